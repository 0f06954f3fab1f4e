"""13 kernels of PolyBench on a budget of DSPs: the kernels, and the schedules that a search finds for them.

The kernels are written so that sums and products are loops of their own. ``tests/designs/by_hand`` has
schedules of the same kernels that were made by hand, with which those that are found are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import allo
from allo.customize import Schedule
from allo.designs.kernel import Kernel, load_kernel
from allo.explore import FoundSchedule
from allo.ir.types import float32

_MODULES = {
    "gemm": "blas.gemm",
    "two_mm": "products.two_mm",
    "three_mm": "products.three_mm_nests",
    "atax": "products.atax",
    "bicg": "products.bicg",
    "mvt": "products.mvt",
    "gesummv": "blas.gesummv_rows",
    "jacobi_2d": "stencils.jacobi_2d",
    "correlation": "datamining.correlation_dots",
    "symm": "blas.symm_product",
    "syrk": "blas.syrk_dots",
    "syr2k": "blas.syr2k_dots",
    "trmm": "blas.trmm_product",
}
NAMES = tuple(_MODULES)
CLOCK_MHZ = 300.0


def load(name: str) -> Kernel:
    """The module of one kernel.

    Raises:
        KeyError: when there is no such kernel.
    """
    return load_kernel("PolyBench on a budget", __package__, _MODULES, name)


def plain(name: str, size: str = "medium") -> Schedule:
    """A kernel of float32 with no primitive applied.

    Raises:
        KeyError: when there is no such kernel, or no such size of it.
    """
    module = load(name)
    extents = module.SIZES[size]
    kernel: Callable[..., Any] = getattr(module, _MODULES[name].rpartition(".")[2])
    has_element = len(kernel.__type_params__) > len(extents)
    return allo.customize(kernel, instantiate=[float32, *extents] if has_element else [*extents])


def found(name: str, max_dsp: int, size: str = "medium", **asked: Any) -> FoundSchedule:
    """The schedule that a search finds for a kernel within so many DSPs of a U280.

    Sums may be added up in another order, and floats flush subnormals to zero, as the units of published
    designs do.

    Args:
        asked: other arguments of :func:`allo.autoschedule`.

    Raises:
        KeyError: when there is no such kernel, or no such size of it.
        AutoscheduleError: the budget is too small for one unit.
    """
    wanted: dict[str, Any] = {
        "device": "u280",
        "clock_mhz": CLOCK_MHZ,
        "reassociate": True,
        "subnormals": "flush",
        "max_dsp": max_dsp,
    }
    made: FoundSchedule = allo.autoschedule(plain(name, size), **wanted | asked)
    return made
