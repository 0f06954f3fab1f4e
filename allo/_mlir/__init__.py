"""The published path of the exceptions of array partitioning: ``allo._mlir.exceptions``."""
