"""Sums, counts, quotients and matrices."""
