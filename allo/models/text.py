"""The text of the generated kernels, each line with the model's own line that it comes from."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.text.free_name import free_name

from .tensors import Tensor

LOCALS = (
    "elem",
    "other",
    "third",
    "acc",
    "best",
    "at",
    "mean",
    "var",
    "scale",
    "total",
    "count",
    "wide",
)
"""Scalars of generated loop bodies: no array takes these names."""

_ITERATOR = re.compile(r"[ijknor]\d+")


def _unused(stem: str, names: set[str], reserved: frozenset[str]) -> str:
    name = free_name(stem, names, reserved)
    names.add(name)
    return name


def identifier(wanted: str) -> str:
    """The nearest word that may name something."""
    name = re.sub(r"\W+", "_", wanted).strip("_") or "value"
    if name[0].isdigit():
        name = f"m{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


@dataclass(slots=True)
class FunctionText:
    """One generated function.

    Attributes:
        name: of the function.
        reserved: the names that no variable may take.
        place: the model's line that is being lowered.
        body: its lines with their places, without the ``def``.
    """

    name: str
    reserved: frozenset[str]
    place: SourcePlace | None = None
    body: list[tuple[str, SourcePlace | None]] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)
    _bands: set[str] = field(default_factory=set)
    _depth: int = 1

    def fresh(self, wanted: str) -> str:
        """A name of this function that nothing else has: ``add``, ``add_1`` …"""
        stem = identifier(wanted)
        if _ITERATOR.fullmatch(stem):
            stem = f"{stem}_"
        return _unused(stem, self._names, self.reserved.union(LOCALS))

    def band(self, wanted: str) -> str:
        """A name for a nest that no other nest of this function has."""
        return _unused(identifier(wanted), self._bands, frozenset())

    def line(self, text: str) -> None:
        """A statement."""
        self.body.append(("    " * self._depth + text, self.place))

    def array(self, wanted: str, shape: Sequence[int], dtype: str) -> Tensor:
        """Declare an array."""
        name = self.fresh(wanted)
        tensor = Tensor.whole(name, shape, dtype)
        self.line(f"{name}: {type_text(dtype, tensor.extents)}")
        return tensor

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A statement with a body."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def loops(
        self, extents: Sequence[int], band: str = "", *, prefix: str = "i", reduction: bool = False
    ) -> Iterator[tuple[str, ...]]:
        """A nest over ``extents``; the band gets a name of its own where one is wanted."""
        if not extents:
            if band:  # a scalar is one iteration
                with self.loops((1,), band, prefix=prefix):
                    yield ()
            else:
                yield ()
            return
        indices = tuple(f"{prefix}{k}" for k in range(len(extents)))
        function = "reduction" if reduction else "grid"
        name = f', name="{self.band(band)}"' if band else ""
        listed = ", ".join(map(str, extents))
        with self.block(f"for {', '.join(indices)} in allo.{function}({listed}{name}):"):
            yield indices


def type_text(dtype: str, extents: Sequence[int]) -> str:
    """An array type as it is written."""
    return f"{dtype}[{', '.join(map(str, extents))}]"
