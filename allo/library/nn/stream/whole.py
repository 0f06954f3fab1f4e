"""A unit for any function of one image: it is kept whole, and the function runs on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import allo
from allo.customize import Schedule
from allo.errors import OptionError
from allo.ir.types import Stream, UInt

from ..._defaults import pipeline_innermost
from .shapes import INT8, Element
from .units import Unit, unit

_RANK = 4


def whole(
    function: Callable[..., Any],
    come_shape: tuple[int, ...],
    go_shape: tuple[int, ...],
    *,
    come: Element = INT8,
    taken: Element = INT8,
    go: Element = INT8,
    samples: int = 1,
    name: str = "whole",
) -> Unit:
    """A unit that takes an image, calls a kernel with it, and gives the result, element by element.

    Args:
        function: a kernel of an array, whose result is another.
        come_shape, go_shape: of the two: up to four dimensions.
        come: what comes.
        taken, go: elements of the two arrays.
        samples: images.
        name: of the unit.

    Raises:
        OptionError: an array of more dimensions.
    """
    for shape in (come_shape, go_shape):
        if not 1 <= len(shape) <= _RANK:
            raise OptionError(
                f"{name} has an array of {len(shape)} dimensions, and streams pass those of 1 to {_RANK}.",
                help="reshape it inside the function.",
            )
    comes, goes = len(come_shape), len(go_shape)
    c0, c1, c2, c3 = (1,) * (_RANK - comes) + tuple(come_shape)
    g0, g1, g2, g3 = (1,) * (_RANK - goes) + tuple(go_shape)

    come_bits, go_bits, is_float = come.bits, go.bits, go.is_float
    come_kind, taken_kind, go_kind = come.kind, taken.kind, go.kind

    def calling(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """A function of images."""
        given: taken_kind[come_shape]
        for _n in range(samples):
            for a, b, c, d in allo.grid(c0, c1, c2, c3, name="take"):
                level: come_kind = come.get()
                with allo.meta_if(comes == 1):
                    given[d] = level
                with allo.meta_elif(comes == 2):
                    given[c, d] = level
                with allo.meta_elif(comes == 3):
                    given[b, c, d] = level
                with allo.meta_else():
                    given[a, b, c, d] = level
            result: go_kind[go_shape] = function(given)
            for e, f, g, h in allo.grid(g0, g1, g2, g3, name="give"):
                made: go_kind = 0
                with allo.meta_if(goes == 1):
                    made = result[h]
                with allo.meta_elif(goes == 2):
                    made = result[g, h]
                with allo.meta_elif(goes == 3):
                    made = result[f, g, h]
                with allo.meta_else():
                    made = result[e, f, g, h]
                with allo.meta_if(is_float):
                    go.put(made.bitcast())
                with allo.meta_else():
                    go.put(made)

    def schedule(s: Schedule) -> None:
        for each in list(s.func_args):
            pipeline_innermost(s, each)

    return unit(calling, name, schedule, locals())


def cycles_of(function: Callable[..., Any]) -> int:
    """The cycles of a function as it runs in such a unit; it is built for the default device to know them."""
    s = allo.customize(function)
    for each in list(s.func_args):
        pipeline_innermost(s, each)
    return int(s.build(target="verilog").report.cycles)
