"""Whole arrays while elaborating: lazy values, tensors' functions, reductions."""
