"""The largest logits of a step: kept in hardware, and the same in NumPy."""
