"""Published paths: MLIR's bindings as ``ir`` and ``dialects``, and array partitioning's ``exceptions``."""
