"""The Python boundary: NumPy arrays in and out of compiled functions."""
