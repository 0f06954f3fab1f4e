"""Designs of the test suites, by name, each as what makes its schedule."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from allo.customize import Schedule
from allo.designs.gallery.catalogue import ENTRIES
from allo.designs.machsuite import kernels as machsuite
from allo.designs.polybench import kernels as polybench
from tests.dataflow.networks import random_network, schedule_of

NETWORKS = 8
LARGE = ("adi", "correlation", "backprop", "md_grid", "md_knn", "fft_transpose")
"""Kernels whose Verilog takes seconds to make or to read."""


def _gallery(name: str) -> Schedule:
    (entry,) = [entry for entry in ENTRIES if entry.name == name]
    made: Schedule = entry.load().schedule()
    return made


def _polybench(name: str) -> Schedule:
    kernel = polybench.load(name)
    return kernel.schedule(kernel.SIZES["tiny"])


def _machsuite(name: str) -> Schedule:
    kernel = machsuite.load(name)
    return kernel.schedule(kernel.SIZES["tiny"])


def _network(seed: int) -> Schedule:
    return schedule_of(random_network(seed))


DESIGNS: dict[str, Callable[[], Schedule]] = {
    **{f"gallery-{e.name}": partial(_gallery, e.name) for e in ENTRIES},
    **{f"polybench-{n}": partial(_polybench, n) for n in polybench.NAMES},
    **{f"machsuite-{n}": partial(_machsuite, n) for n in machsuite.NAMES},
    **{f"network-{seed}": partial(_network, seed) for seed in range(NETWORKS)},
}
SMALL = [name for name in DESIGNS if name.partition("-")[2] not in LARGE]
