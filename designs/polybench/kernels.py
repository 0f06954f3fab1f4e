"""The kernels of PolyBench 4.2.1, each a module of this package with the same four names.

A kernel's module has ``SIZES`` (problem sizes by name, ``tiny`` the one small enough for random RTL
simulation), ``schedule(size)``, ``inputs(rng, size)`` and ``reference(*arrays)``, which works in
place as the kernel does, adds in its order and so gives its bits.
"""

from __future__ import annotations

from allo.designs.kernel import Kernel, load_kernel

NAMES = (
    "adi",
    "atax",
    "bicg",
    "cholesky",
    "correlation",
    "covariance",
    "deriche",
    "doitgen",
    "durbin",
    "fdtd_2d",
    "floyd_warshall",
    "gemver",
    "gesummv",
    "gramschmidt",
    "heat_3d",
    "jacobi_1d",
    "jacobi_2d",
    "lu",
    "ludcmp",
    "mvt",
    "nussinov",
    "seidel_2d",
    "symm",
    "syr2k",
    "syrk",
    "three_mm",
    "trisolv",
    "trmm",
)


def load(name: str) -> Kernel:
    """The module of one kernel.

    Raises:
        KeyError: when there is no such kernel.
    """
    return load_kernel("PolyBench", __package__, NAMES, name)
