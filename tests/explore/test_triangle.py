"""Triangles whose iterations wait for each other, with the sum's loop outside."""

from __future__ import annotations

import numpy as np

from allo.designs.polybench.kernels import load, plain
from allo.explore.apply import apply
from allo.explore.beyond.triangle import steps_of_triangle, triangles
from allo.explore.model.read import read_kernel

SIZE = (6, 4)


def test_a_turned_triangle_adds_to_many_rows_with_the_same_result() -> None:
    """Bit for bit: each element gets its terms in the order of the kernel."""
    given = plain("trmm", SIZE)
    kernel = read_kernel(given)
    (nest,) = triangles(kernel)
    assert nest.name.startswith("add_rows_below")
    A, B = load("trmm").inputs(np.random.default_rng(1), SIZE)
    wanted = B.copy()
    given.build()(A, wanted)
    cycles = []
    for factor in (1, 2):
        turned = plain("trmm", SIZE)
        apply(turned, steps_of_triangle(kernel, nest, factor))
        found = B.copy()
        turned.build()(A, found)
        assert found.tobytes() == wanted.tobytes()
        cycles.append(turned.estimate(warnings=False, clock_mhz=300).cycles)
    assert max(cycles) < 200, "one addition after the other takes over 400 cycles"


def test_squares_and_triangles_that_do_not_wait_stay() -> None:
    for name in ("syrk", "gemm", "symm"):
        assert not list(triangles(read_kernel(plain(name, load(name).SIZES["tiny"]))))
