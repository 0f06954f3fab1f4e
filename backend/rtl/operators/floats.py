"""Floating-point operators, drawn by :mod:`allo.backend.rtl.float`."""

OPERATORS = {}
