"""Runs programs on every target, each in a process that may crash or hang, and compares."""
