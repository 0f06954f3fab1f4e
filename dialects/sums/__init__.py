"""Associative operations: reductions that loops carry, and trees of operations."""
