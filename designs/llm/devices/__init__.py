"""Several devices: shares and stages of a transformer on wide accelerators that links join."""
