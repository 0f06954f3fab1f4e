"""What is known of the arguments of a top function before it is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from allo.dialects._mlir import ir
from allo.dialects.boundary.arguments import Signature, read_signature
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import Stream

from ..design import HardwareDesign


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
    """

    top: str
    place: SourcePlace | None
    spelled: Mapping[str, str]
    sorts: Mapping[str, str]
    places: Mapping[str, SourcePlace | None]
    results: frozenset[str] = frozenset()
    written_whole: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """What is read of a module before the compiler changes it.

    Attributes:
        written_whole: positions of arguments whose every element is written.
    """

    signature: Signature
    written_whole: frozenset[int] = field(default_factory=frozenset)

    def of(self, design: HardwareDesign) -> Arguments:
        """The arguments as a design spells them."""
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
        return Arguments(
            self.signature.top, self.signature.place, spelled, sorts, places, results, whole
        )


def read_arguments(module: ir.Module, top: str) -> Known:
    """What a module says of the arguments of ``top``."""
    return Known(read_signature(module, top))
