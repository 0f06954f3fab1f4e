"""Sparse matrix times vector."""
