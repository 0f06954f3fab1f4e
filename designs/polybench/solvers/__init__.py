"""Solvers of linear equations."""
