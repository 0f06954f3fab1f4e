"""Transformations of whole kernels that are not primitives of one Schedule."""
