"""Primitives on arrays."""
