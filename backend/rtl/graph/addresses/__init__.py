"""Which addresses of a pipeline are registers stepped beside its loop counters."""
