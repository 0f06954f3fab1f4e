"""Breadth-first search."""
