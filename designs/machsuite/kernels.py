"""The kernels of MachSuite, each a module of this package with the same four names.

A kernel's module has ``SIZES`` (``full`` is MachSuite's own problem, ``tiny`` the one small enough for
random RTL simulation), ``schedule(size)``, ``inputs(rng, size)`` and ``reference(*arrays)``, which works
in place, returns what the kernel returns, and is another algorithm where that gives the same bits.
"""

from __future__ import annotations

from allo.designs.kernel import Kernel, load_kernel

NAMES = (
    "aes",
    "backprop",
    "bfs_bulk",
    "bfs_queue",
    "fft_strided",
    "fft_transpose",
    "gemm_blocked",
    "gemm_ncubed",
    "kmp",
    "md_grid",
    "md_knn",
    "merge_sort",
    "nw",
    "radix_sort",
    "spmv_crs",
    "spmv_ellpack",
    "stencil2d",
    "stencil3d",
    "viterbi",
)


def load(name: str) -> Kernel:
    """The module of one kernel.

    Raises:
        KeyError: when there is no such kernel.
    """
    return load_kernel("MachSuite", __package__, NAMES, name)
