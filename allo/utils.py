"""Small helpers users import: the NumPy dtype of wide integers."""

from allo.dialects.boundary.storage import get_np_struct_type

__all__ = ["get_np_struct_type"]
