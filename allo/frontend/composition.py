"""A dataflow region that a program puts together of parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from allo.dialects.diagnostics import DataflowError


@dataclass(frozen=True, slots=True)
class Placed:
    """A part of a composition.

    Attributes:
        function: what ``df.part()`` stands before.
        at: what stands behind the names of its streams and kernels, and tells it from others of its kind.
        names: what its parameters are called in the region, where other than in the part.
    """

    function: Callable[..., Any]
    at: tuple[int | str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Composition:
    """A dataflow region made of parts, whose parameters of one name are one stream or one argument::

        @df.part()
        def sending(A: int32[N], pipe: Stream[int32, 4]):
            @df.kernel(mapping=[1], args=[A])
            def send(a: int32[N]):
                for i in range(N):
                    pipe.put(a[i])

        region = df.Composition("top", arguments=("A", "B"))
        region.add(sending)
        region.add(taking)
        module = df.build(region)

    A part holds streams and kernels, as a region does. A parameter with a ``Stream`` type is a stream
    that it shares with the other parts; every other one is an argument of the region. Processes stand in
    the region in the order in which their parts are added.

    Attributes:
        arguments: names of the region's arguments, in the order of a call.
        common: streams that parts at all places share. The other ones, and kernels, belong to the place of
            their part, which stands behind their names.
        values: numbers that parameters of parts stand for, which are then no arguments.
    """

    name: str
    arguments: Sequence[str]
    common: Sequence[str] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    parts: list[Placed] = field(default_factory=list)

    __allo_region__ = True

    @property
    def __name__(self) -> str:
        return self.name

    def add(
        self,
        function: Callable[..., Any],
        at: tuple[int | str, ...] = (),
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Put a part at the end of the region.

        Args:
            at: its place, of a part that comes several times.
            names: parameters that have another name in the region, and that name.

        Raises:
            DataflowError: the function is not decorated with ``@df.part()``.
        """
        if not getattr(function, "__allo_part__", False):
            name = getattr(function, "__name__", repr(function))
            raise DataflowError(
                f"{name} is not a part of a dataflow region.", help="decorate it with @df.part()."
            )
        self.parts.append(Placed(function, at, names or {}))
