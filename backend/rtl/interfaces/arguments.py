"""What is known of the arguments of a top function before it is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.boundary.arguments import Signature, read_signature
from allo.dialects.core.signature import functions_of
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.interfaces.order import written_whole
from allo.dialects.interfaces.streamed import stream_arguments
from allo.dialects.interfaces.transfers import Transfer
from allo.dialects.types import Stream

from ..design import HardwareDesign, Times


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a function, and the arrays it returns.

    Attributes:
        top: the function's name; ``place`` where it is.
        spelled: what each is called in the design, by the user's name.
        sorts: ``"array"``, ``"scalar"`` or ``"stream"``, by name in the design, in order.
        places: where each is declared.
        results: names of arrays that are returned.
        written_whole: names of arrays whose every element the kernel writes.
        counts: elements of the arrays that are streams.
        transfers: arrays whose elements pass while the core runs.
        widest: bits of a master's data for which no width is asked, at most.
        early: the arrays that are copied while the core runs, and when it uses each element.
    """

    top: str
    place: SourcePlace | None
    spelled: Mapping[str, str]
    sorts: Mapping[str, str]
    places: Mapping[str, SourcePlace | None]
    results: frozenset[str] = frozenset()
    written_whole: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=dict)
    transfers: Mapping[str, Transfer] = field(default_factory=dict)
    widest: int = 512
    early: Times = field(default_factory=Times)


@dataclass(frozen=True, slots=True)
class Known:
    """What is read of a module before the compiler changes it.

    Attributes:
        written_whole: positions of arguments whose every element is written.
        streamed: positions of array arguments that became streams.
        widest, early: see :class:`Arguments`.
        waits: whether the core also waits for words of its own.
    """

    signature: Signature
    written_whole: frozenset[int]
    streamed: tuple[int, ...]
    widest: int = 512
    early: Times = field(default_factory=Times)
    waits: bool = False

    def of(self, design: HardwareDesign, transfers: Mapping[int, Transfer]) -> Arguments:
        """The arguments as a design spells them; ``transfers`` by position."""
        arrays = {array.name for array in design.arrays}
        spelled, sorts, places = {}, {}, {}
        for name, parameter in zip(design.arguments, self.signature.arguments, strict=True):
            spelled[parameter.name] = name
            places[name] = parameter.place
            if isinstance(parameter.dtype, Stream):
                sorts[name] = "stream"
            else:
                sorts[name] = "scalar" if parameter.shape is None else "array"
        results = frozenset(name for name in design.results if name in arrays)
        for name in sorted(results - sorts.keys()):
            spelled[name], sorts[name], places[name] = name, "array", self.signature.place
        whole = frozenset(design.arguments[n] for n in self.written_whole)
        counts = {}
        for position in self.streamed:
            shape = self.signature.arguments[position].shape or ()
            counts[design.arguments[position]] = prod(extent or 0 for extent in shape)
        top, place = self.signature.top, self.signature.place
        moved = {design.arguments[n]: transfer for n, transfer in transfers.items()}
        return Arguments(
            top,
            place,
            spelled,
            sorts,
            places,
            results,
            whole,
            counts,
            moved,
            self.widest,
            self.early,
        )


def read_arguments(module: ir.Module, top: str, interface: str | Mapping[str, Any]) -> Known:
    """What a module says of the arguments of ``top``; arrays for AXI4-Streams become streams in it.

    Raises:
        InterfaceError: an array for a stream whose elements do not pass once, in row-major order.
    """
    signature = read_signature(module, top)
    streamed, buffered = [], []
    for position, parameter in enumerate(signature.arguments):
        if parameter.shape is None or isinstance(parameter.dtype, Stream):
            continue
        asked = interface if isinstance(interface, str) else interface.get(parameter.name)
        kind = asked.get("kind") if isinstance(asked, Mapping) else asked
        if kind == "axis":
            streamed.append(position)
        elif kind == "m_axi" and parameter.written and not parameter.read:
            buffered.append(position)
    whole: frozenset[int] = frozenset()
    if buffered:
        whole = written_whole(module, functions_of(module.operation)[top], buffered)
    if streamed:
        stream_arguments(module, top, streamed)
    return Known(signature, whole, tuple(streamed))
