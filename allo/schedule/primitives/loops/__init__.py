"""Primitives on loops."""
