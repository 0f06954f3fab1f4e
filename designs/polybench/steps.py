"""The number of time steps of PolyBench's stencils, which no argument carries."""

from __future__ import annotations

from collections.abc import Mapping


def steps_of(sizes: Mapping[str, tuple[int, ...]], extent: int) -> int:
    """The steps, first in a size, that go with an array ``extent`` wide, last in it."""
    return next(size[0] for size in sizes.values() if size[-1] == extent)
