"""A unit for any function of one image: it is kept whole, and the function runs on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import allo
from allo.customize import Schedule
from allo.errors import OptionError
from allo.ir.types import Stream, UInt, int8

from ..._defaults import pipeline_innermost
from .units import Unit, unit

_RANK = 4


def whole(
    function: Callable[..., Any],
    come_shape: tuple[int, ...],
    go_shape: tuple[int, ...],
    *,
    samples: int = 1,
    name: str = "whole",
) -> Unit:
    """A unit that takes an image, calls a kernel with it, and gives the result, element by element.

    Args:
        function: a kernel of an array of int8, whose result is another.
        come_shape, go_shape: of the two: up to four dimensions.
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

    def calling(come: Stream[UInt(8), 2], go: Stream[UInt(8), 2]):
        """A function of images."""
        given: int8[come_shape]
        for _n in range(samples):
            for a, b, c, d in allo.grid(c0, c1, c2, c3, name="take"):
                with allo.meta_if(comes == 1):
                    given[d] = come.get()
                with allo.meta_elif(comes == 2):
                    given[c, d] = come.get()
                with allo.meta_elif(comes == 3):
                    given[b, c, d] = come.get()
                with allo.meta_else():
                    given[a, b, c, d] = come.get()
            result: int8[go_shape] = function(given)
            for e, f, g, h in allo.grid(g0, g1, g2, g3, name="give"):
                with allo.meta_if(goes == 1):
                    go.put(result[h])
                with allo.meta_elif(goes == 2):
                    go.put(result[g, h])
                with allo.meta_elif(goes == 3):
                    go.put(result[f, g, h])
                with allo.meta_else():
                    go.put(result[e, f, g, h])

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
