"""The wide accelerator with a step for each token: levels in blocks that share a power of two."""
