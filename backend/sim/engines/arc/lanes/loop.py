"""The text of a loop over lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_POINTER = "!llvm.ptr"
_CLOSED = "{loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}"
"""LLVM would unroll each loop, which doubles its time and makes no model faster."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A function that calls another one for each of some lanes.

    Attributes:
        name, lane: of the function and of the one that it calls.
        count: lanes.
        strides: bytes from lane to lane of each pointer behind the first, which stays.
        given: types of the values that all lanes share.
    """

    name: str
    lane: str
    count: int
    strides: list[int]
    given: list[str]

    def text(self) -> str:
        """The function in the llvm dialect."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        given = [(f"%v{number}", kind) for number, kind in enumerate(self.given)]
        formal = ", ".join(f"{name}: {kind}" for name, kind in [("%s", _POINTER), *given])
        pointers = [("%s", _POINTER)]
        yield f"llvm.func @{self.name}({formal}) {{"
        for name, value in (("zero", 0), ("one", 1), ("count", self.count)):
            yield f"  %{name} = llvm.mlir.constant({value} : i64) : i64"
        for number, stride in enumerate(self.strides):
            yield f"  %stride{number} = llvm.mlir.constant({stride} : i64) : i64"
        yield "  llvm.br ^lane(%zero : i64)"
        yield "^lane(%lane: i64):"
        for number in range(len(self.strides)):
            yield f"  %distance{number} = llvm.mul %lane, %stride{number} : i64"
            place = f"llvm.getelementptr %s[%distance{number}]"
            yield f"  %p{number} = {place} : (!llvm.ptr, i64) -> !llvm.ptr, i8"
            pointers.append((f"%p{number}", _POINTER))
        values = ", ".join(name for name, _ in [*pointers, *given])
        kinds = ", ".join(kind for _, kind in [*pointers, *given])
        yield f"  llvm.call @{self.lane}({values}) : ({kinds}) -> ()"
        yield "  %next = llvm.add %lane, %one : i64"
        yield '  %ended = llvm.icmp "eq" %next, %count : i64'
        yield f"  llvm.cond_br %ended, ^end, ^lane(%next : i64) {_CLOSED}"
        yield "^end:"
        yield "  llvm.return"
        yield "}"
