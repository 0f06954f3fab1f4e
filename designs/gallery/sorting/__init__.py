"""Sorting and merging."""
