"""Kernels written in the language itself, each with a default schedule.

``nn`` holds neural network layers, ``systolic`` matrix products on a tile of cells, ``gemv``
packed matrix-vector products. ``KERNEL_SCHEDULES`` maps a kernel's name to the function that
schedules it; ``Schedule.compose(kernel, instantiate=[…])`` applies it. :func:`from_memory` puts
arguments of a kernel into external memory.
"""

from . import gemv, nn, systolic
from ._defaults import KERNEL_SCHEDULES
from .memory import from_memory

__all__ = ["KERNEL_SCHEDULES", "from_memory", "gemv", "nn", "systolic"]
