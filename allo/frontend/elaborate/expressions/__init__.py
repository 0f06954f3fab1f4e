"""Expressions: syntax becomes typed scalars and lazy arrays."""
