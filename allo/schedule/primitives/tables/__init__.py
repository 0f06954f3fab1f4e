"""Primitives that put tables in the place of arithmetic."""
