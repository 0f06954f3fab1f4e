"""Matrix products on tiles of multiply-accumulate cells, plain and packed."""

from .packed import packed_int8xint8_systolic, packed_systolic
from .tiles import PE_kernel, schedule_systolic, systolic, systolic_tile

__all__ = [
    "PE_kernel",
    "packed_int8xint8_systolic",
    "packed_systolic",
    "schedule_systolic",
    "systolic",
    "systolic_tile",
]
