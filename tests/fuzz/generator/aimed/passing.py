"""Walks over long arrays that pass beside the core: in step, in tiles, in rows, and as data decide.

They are longer than what an engine reads ahead, for narrow buses at least, so that it must wait for the core.
Programs from memory take them often; other programs never do.
"""

from __future__ import annotations

import random

from ..program import Program
from ..types import INT32
from ..writer import Array, Scalar, Writer
from .parts import element_type, integer_type, into_scope, kernel


def passing_kernel(w: Writer, seed: int) -> Program:
    """One or two nests over long arrays, each element in its turn."""
    ty = element_type(w) if w.chance(0.3) else integer_type(w)
    tiles, tile = w.rng.randint(2, 6), w.rng.randint(20, 80)
    length = tiles * tile
    params: list[Array | Scalar] = [
        Array("A0", ty, (length,)),
        Array("B", ty, (length,)),
        Array("C", ty, (tiles, tile)),
        Array("x", integer_type(w), (w.pick((256, 512, 1024)),)),
        Array("at", INT32, (length,)),
    ]
    # A choice of its own, so that other programs stay as they are.
    own = random.Random(f"stores of {seed}")
    if stores := own.random() < 0.4:
        params.append(Array("z", INT32, (own.choice((256, 1024)),)))
    with w.function() as lines:
        into_scope(w, params)
        _nest(w, tiles, tile, params)
        if w.chance(0.4):
            _nest(w, tiles, tile, params)
        if stores:
            _stored(w, own, tile, params)
        body = list(lines)
    program = kernel(w, seed, params, None, body)
    program.runs = 2
    return program


def _nest(w: Writer, tiles: int, tile: int, params: list[Array | Scalar]) -> None:
    kind = w.pick((_in_step, _in_step, _tiles, _rows, *[_asked] * 4))
    kind(w, tiles, tile, w.fresh("i"), params)


def _stored(w: Writer, rng: random.Random, tile: int, params: list[Array | Scalar]) -> None:
    """Elements of z that data decide: stored, or loaded and stored, perhaps the same ones again."""
    [extent] = params[-1].shape
    name = w.fresh("i")
    few = rng.choice((extent - 1, extent - 1, 3))
    place, other = f"at[{name}] & {few}", f"(at[{name}] + {name}) & {few}"
    w.line(f"for {name} in range({tile}):")
    lead = "    "
    if rng.random() < 0.3:
        w.line(f"    if at[{name}] > {rng.randint(-9, 9)}:")
        lead = "        "
    added = f"z[{place}] = z[{place}] + at[{name}]"
    w.line(
        lead
        + rng.choice((f"z[{place}] = {name} - 7", added, added, f"z[{place}] = z[{other}] + 1"))
    )
    if rng.random() < 0.3:
        w.line(f"{lead}z[{other}] = z[{other}] - {name}")


def _sum(w: Writer, first: str, second: str) -> str:
    return w.pick((f"{first} + {second}", f"{second} - {first}", second, f"{first} + 1"))


def _in_step(w: Writer, tiles: int, tile: int, name: str, params: list[Array | Scalar]) -> None:
    """Loads and stores of one array, each element loaded before it is stored; perhaps not all of them."""
    length = tiles * tile
    low, high = w.pick((0, 0, 1, 3)), length - w.pick((0, 0, 2, 7))
    w.line(f"for {name} in range({low}, {high}):")
    source = w.pick((f"A0[{name}]", f"A0[{name}]", f"A0[{length - 1} - {name}]"))
    guard = w.pick(("", "", f"if {name} >= {low + 5}:", f"if {name} < {high - 4}:"))
    if guard:
        w.line(f"    {guard}")
    w.line(f"{'        ' if guard else '    '}B[{name}] = {_sum(w, f'B[{name}]', source)}")


def _tiles(w: Writer, tiles: int, tile: int, name: str, params: list[Array | Scalar]) -> None:
    """A tile at a time, each perhaps several times."""
    again = w.pick((1, 1, 2))
    w.line(f"for {name} in range({tiles}):")
    w.line(f"    for {name}r in range({again}):")
    w.line(f"        for {name}c in range({tile}):")
    at = f"{name} * {tile} + {name}c"
    w.line(f"            C[{name}, {name}c] = {_sum(w, f'C[{name}, {name}c]', f'A0[{at}]')}")


def _rows(w: Writer, tiles: int, tile: int, name: str, params: list[Array | Scalar]) -> None:
    """Rows and columns of a matrix, beside a vector."""
    order = w.pick(((f"{name}r", tiles, f"{name}c", tile), (f"{name}c", tile, f"{name}r", tiles)))
    w.line(f"for {order[0]} in range({order[1]}):")
    w.line(f"    for {order[2]} in range({order[3]}):")
    target = w.pick((f"C[{name}r, {name}c]", f"B[{name}r * {tile} + {name}c]"))
    source = w.pick((f"A0[{name}c]", f"A0[{name}r * {tile} + {name}c]"))
    w.line(f"        {target} = {_sum(w, target, source)}")


def _asked(w: Writer, tiles: int, tile: int, name: str, params: list[Array | Scalar]) -> None:
    """Elements that data decide, perhaps under a condition on data, perhaps of two arrays in a row."""
    extent = next(p.shape[0] for p in params if isinstance(p, Array) and p.name == "x")
    mask = extent - 1
    w.line(f"for {name} in range({w.pick((tile, tile, tiles * tile))}):")
    place = f"at[{name}] & {mask}"
    if w.chance(0.3):
        place = f"(x[{place}] + {name}) & {mask}"
    elif w.chance(0.3):
        place = f"(at[{name}] + {name}) & {mask}"
    lead = "    "
    if w.chance(0.3):
        w.line(f"    if at[{name}] {w.pick(('>', '!=', '<'))} {w.rng.randint(-9, 9)}:")
        lead = "        "
    w.line(f"{lead}B[{name}] = {w.pick(('', f'B[{name}] + ', f'A0[{name}] - '))}x[{place}]")
