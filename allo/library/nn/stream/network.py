"""Units joined by streams: a dataflow region in which each unit is a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import allo.dataflow as df
from allo.customize import Schedule
from allo.errors import OptionError

from .units import Unit


class Network:
    """A region that is put together of units::

        network = stream.Network("layer")
        network.add(stream.source(elements, simd), image="x", go="pixels")
        network.add(stream.window(shape, simd=simd), come="pixels", go="windows")
        …
        s = network.customize()

    Units of one stream are joined by its name. Arrays of units are arguments of the region, in the order in
    which they are added.

    Attributes:
        name: of the region.
        units: in the order in which they were added.
        depths: words that streams hold, by their names; the others hold two.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.units: list[Unit] = []
        self.depths: dict[str, int] = {}
        self._joined: list[Mapping[str, str]] = []
        self._bits: dict[str, tuple[str, int]] = {}

    def add(self, unit: Unit, **names: str) -> None:
        """Put a unit into the network.

        Args:
            unit: what a function of this package gives.
            names: for each parameter of the unit, the stream, or the argument of the region, that it is.

        Raises:
            OptionError: a parameter has no name or is unknown, or the ends of a stream have unequal words.
        """
        ports = unit.ports  # type: ignore[attr-defined]
        if set(names) != set(ports):
            raise OptionError(
                f"{unit.__name__} has the parameters {', '.join(ports)}, and was given "
                f"{', '.join(names) or 'none'}.",
                help="name the stream or the array of each parameter: come=…, go=….",
            )
        for port, name in names.items():
            bits = _word_bits(ports[port])
            if bits is None:
                continue
            other, known = self._bits.setdefault(name, (unit.__name__, bits))
            if known != bits:
                raise OptionError(
                    f"Stream {name} has words of {known} bits at {other}, and of {bits} at {unit.__name__}.",
                    help="put stream.resize between the two, or give them the same simd.",
                )
        self.units.append(unit)
        self._joined.append(names)

    def region(self) -> df.Composition:
        """The region, without schedules of its units."""
        arguments = [
            name
            for unit, names in zip(self.units, self._joined, strict=True)
            for port, name in names.items()
            if _word_bits(unit.ports[port]) is None  # type: ignore[attr-defined]
        ]
        region = df.Composition(self.name, arguments=arguments, common=tuple(self._bits))
        for unit, names in zip(self.units, self._joined, strict=True):
            region.add(_part(unit), at=(unit.__name__,), names=dict(names))
        return region

    def apply(self, s: Schedule) -> None:
        """Give a schedule of the region those of the units, and FIFOs their depths."""
        s.compose([unit.default_schedule() for unit in self.units])  # type: ignore[attr-defined]
        if self.depths:
            s.fifo_depths(list(self.depths), list(self.depths.values()))

    def customize(self) -> Schedule:
        """The schedule of the region, in which every unit has its own."""
        s = df.customize(self.region())
        self.apply(s)
        return s


def _word_bits(kind: Any) -> int | None:
    """Bits of the words of a stream; None for an array."""
    return int(kind.bits) if hasattr(kind, "depth") else None


def _part(unit: Unit) -> Callable[..., Any]:
    ports = unit.ports  # type: ignore[attr-defined]
    made = _FORMS[tuple(ports)](unit)
    known = {**made.__globals__, **{f"{port}_type": kind for port, kind in ports.items()}}
    part = FunctionType(made.__code__, known, made.__name__, None, made.__closure__)
    part.__qualname__ = made.__qualname__
    part.__annotations__ = made.__annotations__
    return df.part()(part)


def _giving(unit: Any) -> Any:
    def part(image: image_type, go: go_type) -> None:  # type: ignore[name-defined]
        @df.kernel(mapping=[1], args=[image])
        def stage(elements: image_type) -> None:  # type: ignore[name-defined]
            unit(elements, go)

    return part


def _taking(unit: Any) -> Any:
    def part(come: come_type, result: result_type) -> None:  # type: ignore[name-defined]
        @df.kernel(mapping=[1], args=[result])
        def stage(elements: result_type) -> None:  # type: ignore[name-defined]
            unit(come, elements)

    return part


def _through(unit: Any) -> Any:
    def part(come: come_type, go: go_type) -> None:  # type: ignore[name-defined]
        @df.kernel(mapping=[1], args=[])
        def stage() -> None:
            unit(come, go)

    return part


def _forked(unit: Any) -> Any:
    def part(come: come_type, go: go_type, aside: aside_type) -> None:  # type: ignore[name-defined]
        @df.kernel(mapping=[1], args=[])
        def stage() -> None:
            unit(come, go, aside)

    return part


def _joining(unit: Any) -> Any:
    def part(come: come_type, other: other_type, go: go_type) -> None:  # type: ignore[name-defined]
        @df.kernel(mapping=[1], args=[])
        def stage() -> None:
            unit(come, other, go)

    return part


_FORMS: dict[tuple[str, ...], Callable[[Any], Any]] = {
    ("image", "go"): _giving,
    ("come", "result"): _taking,
    ("come", "go"): _through,
    ("come", "go", "aside"): _forked,
    ("come", "other", "go"): _joining,
}
