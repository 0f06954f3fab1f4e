"""The network: its training, its weights, its reference in NumPy."""
