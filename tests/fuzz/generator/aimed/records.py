"""Structs in Structs: arguments, arrays and locals of them; fields and parts are read, stored and copied."""

from __future__ import annotations

from dataclasses import dataclass

from ..program import Program
from ..types import Ty
from ..writer import Array, LoopVar, Scalar, Writer
from .parts import assign, augment, element_type, expression, integer_type, struct_program


@dataclass(frozen=True, slots=True)
class Layout:
    """A Struct: its name, and each field with its type or with the Struct it is."""

    name: str
    fields: tuple[tuple[str, Ty | Layout], ...]

    def about(self) -> tuple[tuple[str, str, object], ...]:
        """The fields as an argument has them."""
        return tuple(
            (name, "struct", of.about()) if isinstance(of, Layout) else (name, of.text, of.bits)
            for name, of in self.fields
        )

    def parts(self, place: str) -> list[tuple[str, Ty | Layout]]:
        """Every field of a place, those of fields too."""
        found: list[tuple[str, Ty | Layout]] = []
        for name, of in self.fields:
            inner = f'{place}["{name}"]'
            found.append((inner, of))
            if isinstance(of, Layout):
                found += of.parts(inner)
        return found


def record_kernel(w: Writer, seed: int) -> Program:
    """A loop over an array of Structs, with one as a local and mostly one as an argument."""
    w.style.depth = 1
    layout = _layout(w, w.pick((1, 1, 2)))
    length = w.rng.randint(2, 6)
    others = [Array("B", integer_type(w), (length,)), Array("Z", element_type(w), (length,))]
    alone, returned = w.chance(0.5), w.chance(0.4)
    with w.function() as lines:
        w.scope.arrays += others
        if alone:
            _into_scope(w, layout, "r0", writable=False)
        w.line(f"c: {layout.name} = {'r0' if alone else 'A0[0]'}")
        _into_scope(w, layout, "c")
        w.line(f"for i0 in range({length}):")
        with w.block():
            w.scope.loops.append(LoopVar("i0", 0, length - 1))
            for _ in range(w.rng.randint(2, 6)):
                _statement(w, layout, length)
            w.line(f"Z[i0] = {expression(w, 1).text}")
        if returned:
            w.line("return c")
        body = list(lines)
    return struct_program(w, seed, layout, length, others, body, alone=alone, returned=returned)


def _layout(w: Writer, inside: int) -> Layout:
    """A Struct with Structs inside, ``inside`` deep."""
    fields: list[tuple[str, Ty | Layout]] = [
        (name, _field_type(w)) for name in "xyz"[: w.rng.randint(1, 3)]
    ]
    if inside:
        inner = _layout(w, inside - 1)
        names = ("p", "q") if w.chance(0.4) else ("p",)
        fields += [(name, inner) for name in names]
        w.rng.shuffle(fields)
    made = Layout(f"S{inside}", tuple(fields))
    shown = ", ".join(
        f'"{name}": {of.name if isinstance(of, Layout) else of.text}' for name, of in made.fields
    )
    w.definitions.append(f"{made.name} = Struct({{{shown}}})")
    return made


def _field_type(w: Writer) -> Ty:
    ty = element_type(w)
    while ty.bits > 64 or ty.kind == "bfloat16" or ty.is_fixed:
        ty = integer_type(w) if not ty.is_float else element_type(w)
    return ty


def _into_scope(w: Writer, layout: Layout, place: str, *, writable: bool = True) -> None:
    """The scalars of a place as names that expressions may use."""
    w.scope.scalars += [
        Scalar(name, of, writable=writable)
        for name, of in layout.parts(place)
        if isinstance(of, Ty)
    ]


def _statement(w: Writer, layout: Layout, length: int) -> None:
    """A field or a part changes: from an expression, a part of the same kind, or a literal."""
    choice = w.rng.random()
    if choice < 0.25:
        w.pick((assign, augment))(w)
        return
    places = [_element(w, length), _element(w, length), "c"]
    everything = [(place, layout) for place in places]
    everything += [part for place in places for part in layout.parts(place)]
    target, of = w.pick(everything)
    if isinstance(of, Ty):
        w.line(f"{target} = {expression(w, 1).text}")
        return
    alike = [place for place, other in everything if other == of]
    if choice < 0.5:
        w.line(f"{target} = {_literal(w, of)}")
    elif choice < 0.65:
        name = w.fresh("d")
        w.line(f"{name}: {of.name} = {w.pick(alike)}")
        _into_scope(w, of, name)
    else:
        w.line(f"{target} = {w.pick(alike)}")


def _element(w: Writer, length: int) -> str:
    at = w.pick(("i0", f"{length - 1} - i0", str(w.rng.randrange(length))))
    return f"A0[{at}]"


def _literal(w: Writer, layout: Layout) -> str:
    parts = [
        f'"{name}": {_literal(w, of) if isinstance(of, Layout) else expression(w, 1).text}'
        for name, of in layout.fields
    ]
    return "{" + ", ".join(parts) + "}"
