"""Expressions of the interpreted language, as text of Python code."""
