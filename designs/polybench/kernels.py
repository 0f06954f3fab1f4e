"""The kernels of PolyBench 4.2.1, each a module of this package with the same four names.

A kernel's module has ``SIZES`` (problem sizes by name, ``tiny`` the one small enough for random RTL
simulation), ``schedule(size)``, ``inputs(rng, size)`` and ``reference(*arrays)``, which works in
place as the kernel does, adds in its order and so gives its bits.
"""

from __future__ import annotations

from allo.designs.kernel import Kernel, load_kernel

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
}
NAMES = tuple(_MODULES)


def load(name: str) -> Kernel:
    """The module of one kernel.

    Raises:
        KeyError: when there is no such kernel.
    """
    return load_kernel("PolyBench", __package__, _MODULES, name)
