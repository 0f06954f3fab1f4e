"""Primitives that divide the range of a loop."""
