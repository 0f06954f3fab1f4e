"""Primitives on functions."""
