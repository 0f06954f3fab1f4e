"""The kernels of MachSuite, each a module of this package with the same four names.

A kernel's module has ``SIZES`` (``full`` is MachSuite's own problem, ``tiny`` the one small enough for
random RTL simulation), ``schedule(size)``, ``inputs(rng, size)`` and ``reference(*arrays)``, which works
in place, returns what the kernel returns, and is another algorithm where that gives the same bits.
"""

from __future__ import annotations

from allo.designs.kernel import Kernel, load_kernel

_MODULES = {
    "aes": "aes",
    "backprop": "backprop",
    "bfs_bulk": "bfs.bfs_bulk",
    "bfs_queue": "bfs.bfs_queue",
    "fft_strided": "fft.fft_strided",
    "fft_transpose": "fft.fft_transpose",
    "gemm_blocked": "gemm.gemm_blocked",
    "gemm_ncubed": "gemm.gemm_ncubed",
    "kmp": "kmp",
    "md_grid": "md.md_grid",
    "md_knn": "md.md_knn",
    "merge_sort": "sort.merge_sort",
    "nw": "nw",
    "radix_sort": "sort.radix_sort",
    "spmv_crs": "spmv.spmv_crs",
    "spmv_ellpack": "spmv.spmv_ellpack",
    "stencil2d": "stencil.stencil2d",
    "stencil3d": "stencil.stencil3d",
    "viterbi": "viterbi",
}
NAMES = tuple(_MODULES)


def load(name: str) -> Kernel:
    """The module of one kernel.

    Raises:
        KeyError: when there is no such kernel.
    """
    return load_kernel("MachSuite", __package__, _MODULES, name)
