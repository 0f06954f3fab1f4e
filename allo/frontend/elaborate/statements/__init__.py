"""Statements: declarations, assignments, branches, loops, returns."""
