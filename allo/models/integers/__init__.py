"""Graphs of integers: their operators in NumPy, their arithmetic, and what they are compared with."""
