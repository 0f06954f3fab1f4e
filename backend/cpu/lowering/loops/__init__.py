"""Loops in the order that suits a CPU: the same operations on every element, in the same order."""
