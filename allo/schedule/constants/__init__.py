"""Nests over constant weights as straight-line sums, for ``constant_multiply``."""
