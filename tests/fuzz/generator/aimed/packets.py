"""Structs with arrays in them: arguments, locals, state; elements are read and written at any subscript."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..program import Program
from ..types import Ty
from ..writer import Array, LoopVar, Scalar, Writer, annotation
from .parts import assign, augment, element_type, expression, integer_type, store, struct_program

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Packet:
    """A Struct: scalars, and arrays with their shapes."""

    name: str
    fields: tuple[tuple[str, Ty, Shape], ...]

    def about(self) -> tuple[tuple[str, str, object], ...]:
        """The fields as an argument has them."""
        return tuple(
            (name, "array", (ty.text, ty.bits, shape)) if shape else (name, ty.text, ty.bits)
            for name, ty, shape in self.fields
        )


def packet_kernel(w: Writer, seed: int) -> Program:
    """A loop over an array of packets, with one as a local, and mostly one as an argument or as state."""
    w.style.depth = 1
    w.use("array fields")
    layout = _layout(w)
    length = w.rng.randint(2, 5)
    others = [Array("B", integer_type(w), (length,)), Array("Z", element_type(w), (length,))]
    alone, returned, kept = w.chance(0.4), w.chance(0.3), w.pick((0, 0, 1, 2, 3))
    with w.function() as lines:
        w.scope.arrays += others
        if kept:
            w.use("stateful structs")
            extent = f"[{kept}]" if kept > 1 else ""
            w.line(f"k0: {layout.name}{extent} @ Stateful = {_start(w, layout)}")
        w.line(f"c: {layout.name} = {'r0' if alone else 'A0[0]'}")
        _into_scope(w, layout, "c")
        w.line(f"for i0 in range({length}):")
        with w.block():
            w.scope.loops.append(LoopVar("i0", 0, length - 1))
            places = ["c", *_elements("A0", length)]
            if kept:
                places += ["k0"] if kept == 1 else _elements("k0", kept)
            for place in places[1:]:
                _into_scope(w, layout, place)
            for _ in range(w.rng.randint(2, 6)):
                _statement(w, layout, places)
            w.line(f"Z[i0] = {expression(w, 1).text}")
        if returned:
            w.line("return c")
        body = list(lines)
    return struct_program(w, seed, layout, length, others, body, alone=alone, returned=returned)


def _layout(w: Writer) -> Packet:
    fields = [(name, _field_type(w), ()) for name in "xy"[: w.rng.randint(0, 2)]]
    for name in "de"[: w.rng.randint(1, 2)]:
        shape = w.pick(((w.rng.randint(2, 5),), (w.rng.randint(2, 5),), (2, w.rng.randint(2, 3))))
        fields.append((name, _field_type(w), shape))
    w.rng.shuffle(fields)
    made = Packet("S0", tuple(fields))
    shown = ", ".join(f'"{name}": {annotation(ty, shape or None)}' for name, ty, shape in fields)
    w.definitions.append(f"S0 = Struct({{{shown}}})")
    return made


def _field_type(w: Writer) -> Ty:
    ty = element_type(w)
    while ty.bits > 64 or ty.kind == "bfloat16" or ty.is_fixed:
        ty = integer_type(w) if not ty.is_float else element_type(w)
    return ty


def _start(w: Writer, layout: Packet) -> str:
    """0, or a value for each field."""
    if w.chance(0.5):
        return "0"
    values = [
        f'"{name}": [{", ".join("01"[w.chance(0.5)] for _ in range(shape[0]))}]'
        if len(shape) == 1
        else f'"{name}": 0'
        for name, _, shape in layout.fields
        if prod(shape) == 1 or len(shape) == 1
    ]
    whole = all(len(shape) < 2 for _, _, shape in layout.fields)
    return "{" + ", ".join(values) + "}" if whole else "0"


def _elements(name: str, extent: int) -> list[str]:
    """Elements in reach of a loop of ``i0``, and one that is known."""
    return [f"{name}[i0 % {extent}]", f"{name}[{extent - 1}]"]


def _into_scope(w: Writer, layout: Packet, place: str) -> None:
    """The fields of a place as names that statements may use."""
    for name, ty, shape in layout.fields:
        field = f'{place}["{name}"]'
        if shape:
            w.scope.arrays.append(Array(field, ty, shape))
        else:
            w.scope.scalars.append(Scalar(field, ty))


def _statement(w: Writer, layout: Packet, places: list[str]) -> None:
    """An element, a field or a whole Struct changes; some of it in a loop over an array of the Struct."""
    choice = w.rng.random()
    if choice < 0.5:
        w.pick((assign, augment, store))(w)
    elif choice < 0.75:
        name, _, shape = w.pick([f for f in layout.fields if f[2]])
        e = w.fresh("e")
        w.line(f"for {e} in range({shape[0]}):")
        with w.block():
            w.scope.loops.append(LoopVar(e, 0, shape[0] - 1))
            at = f"[{e}]" if len(shape) == 1 else f"[{e}, {w.rng.randrange(shape[1])}]"
            w.line(f'{w.pick(places)}["{name}"]{at} = {expression(w, 1).text}')
    elif choice < 0.9:
        w.line(f"{w.pick(places)} = {w.pick(places)}")
    else:
        name = w.fresh("p")
        w.line(f"{name}: {layout.name} = {w.pick(places)}")
        _into_scope(w, layout, name)
