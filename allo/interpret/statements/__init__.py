"""Statements of the interpreted language, and the processes of regions."""
