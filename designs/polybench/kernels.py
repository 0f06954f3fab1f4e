"""The kernels of PolyBench 4.2.1, each a module of this package with the same four names.

A kernel's module has ``SIZES`` (problem sizes by name, ``tiny`` the one small enough for random RTL
simulation), ``schedule(size)``, ``inputs(rng, size)`` and ``reference(*arrays)``, which works in
place as the kernel does, adds in its order and so gives its bits. The kernel itself has the
suite's name for it; :func:`plain` customises it without a schedule.
"""

from __future__ import annotations

from types import FunctionType
from typing import cast

import allo
from allo.customize import Schedule
from allo.designs.kernel import Kernel, load_kernel
from allo.ir.types import AlloType, float32, int32

_MODULES = {
    "adi": "stencils.adi",
    "atax": "products.atax",
    "bicg": "products.bicg",
    "cholesky": "solvers.cholesky",
    "correlation": "datamining.correlation",
    "covariance": "datamining.covariance",
    "deriche": "medley.deriche",
    "doitgen": "products.doitgen",
    "durbin": "solvers.durbin",
    "fdtd_2d": "stencils.fdtd_2d",
    "floyd_warshall": "medley.floyd_warshall",
    "gemm": "blas.gemm_in_place",
    "gemver": "blas.gemver",
    "gesummv": "blas.gesummv",
    "gramschmidt": "solvers.gramschmidt",
    "heat_3d": "stencils.heat_3d",
    "jacobi_1d": "stencils.jacobi_1d",
    "jacobi_2d": "stencils.jacobi_2d",
    "lu": "solvers.lu",
    "ludcmp": "solvers.ludcmp",
    "mvt": "products.mvt",
    "nussinov": "medley.nussinov",
    "seidel_2d": "stencils.seidel_2d",
    "symm": "blas.symm",
    "syr2k": "blas.syr2k",
    "syrk": "blas.syrk",
    "three_mm": "products.three_mm",
    "trisolv": "solvers.trisolv",
    "trmm": "blas.trmm",
    "two_mm": "products.two_mm_in_place",
}
_INTEGER = ("floyd_warshall", "nussinov")
NAMES = tuple(_MODULES)


def load(name: str) -> Kernel:
    """The module of one kernel.

    Raises:
        KeyError: when there is no such kernel.
    """
    return load_kernel("PolyBench", __package__, _MODULES, name)


def element_of(name: str) -> AlloType:
    """The type of a kernel's elements: float32, or int32 for those of integers."""
    return int32 if name in _INTEGER else float32


def size_names(name: str, size: tuple[int, ...]) -> tuple[str, ...]:
    """The names that a kernel's source gives to the extents of a size."""
    parameters = _function(name).__type_params__
    return tuple(parameter.__name__ for parameter in parameters[-len(size) :])


def plain(name: str, size: tuple[int, ...]) -> Schedule:
    """A kernel as its source says, with no primitive applied.

    Raises:
        KeyError: when there is no such kernel.
    """
    kernel = _function(name)
    has_element = len(kernel.__type_params__) > len(size)
    template = [element_of(name), *size] if has_element else [*size]
    return allo.customize(kernel, instantiate=template)


def _function(name: str) -> FunctionType:
    return cast(FunctionType, getattr(load(name), name))
