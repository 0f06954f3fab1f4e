"""Matrix products on tiles of multiply-accumulate cells, plain and packed."""

from .packed import packed_int8xint8_systolic, packed_systolic
from .tiles import (
    PE_kernel,
    check_systolic,
    prepare_systolic,
    schedule_systolic,
    stream_tile,
    systolic,
    systolic_tile,
)

__all__ = [
    "PE_kernel",
    "check_systolic",
    "packed_int8xint8_systolic",
    "packed_systolic",
    "prepare_systolic",
    "schedule_systolic",
    "stream_tile",
    "systolic",
    "systolic_tile",
]
