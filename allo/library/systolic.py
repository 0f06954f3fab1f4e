"""Matrix products on tiles of multiply-accumulate cells, plain and packed."""

from .cells import PE_kernel, PE_kernel_packed_int4xint8, PE_kernel_packed_int8xint8
from .packed import packed_int8xint8_systolic, packed_systolic
from .tiles import (
    check_systolic,
    prepare_systolic,
    schedule_systolic,
    stream_tile,
    systolic,
    systolic_tile,
)

__all__ = [
    "PE_kernel",
    "PE_kernel_packed_int4xint8",
    "PE_kernel_packed_int8xint8",
    "check_systolic",
    "packed_int8xint8_systolic",
    "packed_systolic",
    "prepare_systolic",
    "schedule_systolic",
    "stream_tile",
    "systolic",
    "systolic_tile",
]
