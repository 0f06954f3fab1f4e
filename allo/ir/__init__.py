"""Faces of the ground floor that users import: ``allo.ir.types``, ``allo.ir.utils``."""
