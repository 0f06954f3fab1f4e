"""Kernels that one would give a cache: tiles, windows, triangles, rows that data choose, stages in memory.

Loops whose iterations use a part of an array begin with ``t``; programs from memory put caches there. Other
programs never are of this kind.
"""

from __future__ import annotations

from collections.abc import Callable

from ..program import Program
from ..types import INT32, Ty, floating
from ..writer import Array, Writer, annotation, argument_of
from .parts import integer_type


def cached_kernel(w: Writer, seed: int) -> Program:
    """One or two nests over arrays larger than a tile, perhaps one of them in a function of its own."""
    kinds: tuple[Callable[[Writer], list[Array]], ...] = (
        *(_product, _blocks, _window, _overlap, _transposed, _histogram, _rows_by_data),
        *(_prefix, _triangle, _dynamic, _stages, _in_place, _sweeps, _band, _composed),
        _every_other,
    )
    params: dict[str, Array] = {}
    body: list[str] = []
    for _ in range(w.pick((1, 1, 2))):
        with w.function() as lines:
            for array in w.pick(kinds)(w):
                params[array.name] = array
            body += lines
    w.functions.append(_text("kernel", list(params.values()), body))
    arguments = [argument_of(p) for p in params.values()]
    return Program(seed, w.module(), "kernel", arguments, runs=2)


def _text(name: str, params: list[Array], body: list[str]) -> str:
    shown = ", ".join(f"{p.name}: {annotation(p.ty, p.shape)}" for p in params)
    return "\n".join([f"def {name}({shown}):", *body])


def _type(w: Writer) -> Ty:
    return floating("float32") if w.chance(0.2) else integer_type(w, 40)


def _arrays(w: Writer, *shapes: tuple[int, ...]) -> list[Array]:
    """Arrays of one type or several, with names of their own."""
    ty = _type(w)
    return [Array(w.fresh("M"), ty if w.chance(0.7) else _type(w), shape) for shape in shapes]


def _loops(w: Writer, *heads: tuple[str, int | str]) -> str:
    """Nested loops; what stands in them is one level deeper. Returns the lead of their body."""
    for level, (name, extent) in enumerate(heads):
        w.line(f"{'    ' * level}for {name} in range({extent}):")
    return "    " * len(heads)


def _names(w: Writer, *stems: str) -> list[str]:
    number = w.fresh("")
    return [stem + number for stem in stems]


# --- kinds ----------------------------------------------------------------------


def _product(w: Writer) -> list[Array]:
    """A product by tiles of rows."""
    tiles, tile, n, k = w.pick((2, 3)), w.pick((2, 4)), w.pick((4, 6, 8)), w.pick((3, 8))
    a, b, c = _arrays(w, (tiles * tile, k), (k, n), (tiles * tile, n))
    t, r, x, j = _names(w, "t", "r", "x", "j")
    order = w.pick((((r, tile), (x, k), (j, n)), ((x, k), (r, tile), (j, n))))
    lead = _loops(w, (t, tiles), *order)
    row = f"{t} * {tile} + {r}"
    w.line(f"{lead}{c.name}[{row}, {j}] += {a.name}[{row}, {x}] * {b.name}[{x}, {j}]")
    return [a, b, c]


def _blocks(w: Writer) -> list[Array]:
    """A product by blocks in all three dimensions."""
    edge = w.pick((2, 4))
    m, n, k = (edge * w.pick((2, 3)) for _ in range(3))
    a, b, c = _arrays(w, (m, k), (k, n), (m, n))
    t, tj, tx, i, j, x = _names(w, "t", "tj", "tx", "i", "j", "x")
    outer = w.pick((((t, m), (tj, n), (tx, k)), ((tx, k), (t, m), (tj, n))))
    lead = _loops(
        w, *((name, all_ // edge) for name, all_ in outer), (i, edge), (j, edge), (x, edge)
    )
    row, column, at = f"{t} * {edge} + {i}", f"{tj} * {edge} + {j}", f"{tx} * {edge} + {x}"
    w.line(f"{lead}{c.name}[{row}, {column}] += {a.name}[{row}, {at}] * {b.name}[{at}, {column}]")
    return [a, b, c]


def _window(w: Writer) -> list[Array]:
    """A window that slides over an image, by one row or two."""
    size, step, height, width = (
        w.pick((2, 3)),
        w.pick((1, 1, 2)),
        w.rng.randint(6, 10),
        w.pick((6, 8)),
    )
    rows, columns = (height - size) // step + 1, width - size + 1
    a, b = _arrays(w, (height, width), (rows, columns))
    t, x, r, c = _names(w, "ty", "x", "r", "c")
    lead = _loops(w, (t, rows), (x, columns))
    total = w.fresh("total")
    w.line(f"{lead}{total}: {b.ty.text} = 0")
    w.line(f"{lead}for {r} in range({size}):")
    w.line(f"{lead}    for {c} in range({size}):")
    w.line(f"{lead}        {total} += {a.name}[{t} * {step} + {r}, {x} + {c}]")
    w.line(f"{lead}{b.name}[{t}, {x}] = {total}")
    return [a, b]


def _overlap(w: Writer) -> list[Array]:
    """Tiles of a line with what lies beside them."""
    tiles, tile, halo = w.rng.randint(2, 5), w.pick((4, 8, 12)), w.pick((1, 2, 3))
    a, b = _arrays(w, (tiles * tile + halo,), (tiles * tile,))
    t, i = _names(w, "t", "i")
    lead = _loops(w, (t, tiles), (i, tile))
    at = f"{t} * {tile} + {i}"
    w.line(f"{lead}{b.name}[{at}] = {a.name}[{at}] - {a.name}[{at} + {halo}]")
    return [a, b]


def _transposed(w: Writer) -> list[Array]:
    """Columns of a matrix: added up, or put into the rows of another one."""
    m, n = w.pick((4, 6, 8)), w.pick((4, 8, 12))
    t, i = _names(w, "t", "i")
    if w.chance(0.5):
        a, b = _arrays(w, (m, n), (n, m))
        lead = _loops(w, (t, n), (i, m))
        w.line(f"{lead}{b.name}[{t}, {i}] = {a.name}[{i}, {t}]")
        return [a, b]
    a, b = _arrays(w, (m, n), (n,))
    lead = _loops(w, (t, n), (i, m))
    w.line(f"{lead}{b.name}[{t}] += {a.name}[{i}, {t}]")
    return [a, b]


def _histogram(w: Writer) -> list[Array]:
    """Counters that data choose, of one row of them or of several."""
    tiles, tile, bins = w.pick((2, 4)), w.pick((8, 24)), w.pick((4, 64, 256))
    at = Array(w.fresh("at"), INT32, (tiles * tile,))
    t, i = _names(w, "t", "i")
    lead = _loops(w, (t, tiles), (i, tile))
    place = f"{at.name}[{t} * {tile} + {i}] & {bins - 1}"
    added = w.pick(("1", f"{i} + 1"))
    if w.chance(0.5):
        [counts] = _arrays(w, (tiles, bins))
        w.line(f"{lead}{counts.name}[{t}, {place}] += {added}")
    else:
        [counts] = _arrays(w, (bins,))
        w.line(f"{lead}{counts.name}[{place}] += {added}")
    return [at, counts]


def _rows_by_data(w: Writer) -> list[Array]:
    """Rows of a table that data choose, read or stored."""
    rows, width, count = w.pick((8, 16)), w.pick((4, 8)), w.rng.randint(4, 9)
    table, out = _arrays(w, (rows, width), (count, width))
    at = Array(w.fresh("at"), INT32, (count,))
    t, j = _names(w, "t", "j")
    lead = _loops(w, (t, count), (j, width))
    chosen = f"{table.name}[{at.name}[{t}] & {rows - 1}, {j}]"
    if w.chance(0.3):
        w.line(f"{lead}{chosen} = {out.name}[{t}, {j}]")
    else:
        w.line(f"{lead}{out.name}[{t}, {j}] = {chosen}")
    return [table, out, at]


def _prefix(w: Writer) -> list[Array]:
    """Sums of all elements before, through the memory or through a scalar."""
    tiles, tile = w.rng.randint(2, 5), w.pick((5, 8))
    a, b = _arrays(w, (tiles * tile,), (tiles * tile,))
    t, i = _names(w, "t", "i")
    at = f"{t} * {tile} + {i}"
    if w.chance(0.5):
        total = w.fresh("total")
        w.line(f"{total}: {b.ty.text} = 0")
        lead = _loops(w, (t, tiles), (i, tile))
        w.line(f"{lead}{total} += {a.name}[{at}]")
        w.line(f"{lead}{b.name}[{at}] = {total}")
        return [a, b]
    lead = _loops(w, (t, tiles), (i, tile))
    w.line(f"{lead}if {at} >= 1:")
    w.line(f"{lead}    {b.name}[{at}] = {b.name}[{at} - 1] + {a.name}[{at}]")
    return [a, b]


def _triangle(w: Writer) -> list[Array]:
    """The rows of a triangle, as of a symmetric product."""
    n, k = w.rng.randint(5, 9), w.pick((3, 4))
    a, c = _arrays(w, (n, k), (n, n))
    t, j, x = _names(w, "t", "j", "x")
    bounds = w.pick((f"{t} + 1", f"{t}, {n}", f"{t}"))
    lead = _loops(w, (t, n), (j, bounds), (x, k))
    w.line(f"{lead}{c.name}[{t}, {j}] += {a.name}[{t}, {x}] * {a.name}[{j}, {x}]")
    return [a, c]


def _band(w: Writer) -> list[Array]:
    """A band around the diagonal of a matrix, times a vector."""
    n, half = w.rng.randint(8, 12), w.pick((1, 2))
    a, x, y = _arrays(w, (n, n), (n,), (n,))
    t, d = _names(w, "t", "d")
    w.line(f"for {t} in range({half}, {n - half}):")
    w.line(f"    for {d} in range({2 * half + 1}):")
    at = f"{t} + {d} - {half}"
    w.line(f"        {y.name}[{t}] += {a.name}[{t}, {at}] * {x.name}[{at}]")
    return [a, x, y]


def _dynamic(w: Writer) -> list[Array]:
    """Rows of which data say how much of them counts."""
    rows, width = w.rng.randint(3, 7), w.pick((8, 16))
    a, y = _arrays(w, (rows, width), (rows,))
    n = Array(w.fresh("n"), INT32, (rows,))
    t, j = _names(w, "t", "j")
    lead = _loops(w, (t, rows), (j, f"{n.name}[{t}] & {width - 1}"))
    w.line(f"{lead}{y.name}[{t}] += {a.name}[{t}, {j}]")
    return [a, y, n]


def _stages(w: Writer) -> list[Array]:
    """Two nests with an array between that lies in memory."""
    tiles, tile = w.rng.randint(2, 4), w.pick((6, 8))
    a, b, c = _arrays(w, (tiles, tile), (tiles, tile), (tiles, tile))
    t, i, u, j = _names(w, "t", "i", "tu", "j")
    lead = _loops(w, (t, tiles), (i, tile))
    w.line(f"{lead}{b.name}[{t}, {i}] = {a.name}[{t}, {i}] + {i}")
    lead = _loops(w, (u, tiles), (j, tile))
    source = w.pick((f"{u}, {j}", f"{tiles - 1} - {u}, {j}", f"{u}, {tile - 1} - {j}"))
    w.line(f"{lead}{c.name}[{u}, {j}] = {b.name}[{source}]")
    return [a, b, c]


def _in_place(w: Writer) -> list[Array]:
    """Tiles that are changed several times, in place."""
    tiles, tile, times = w.rng.randint(2, 5), w.pick((4, 10)), w.pick((1, 2, 3))
    a, b = _arrays(w, (tiles * tile,), (tile,))
    t, r, i = _names(w, "t", "r", "i")
    lead = _loops(w, (t, tiles), (r, times), (i, tile))
    at = f"{t} * {tile} + {i}"
    guard = w.pick(("", "", f"if {i} >= {tile // 2}:"))
    if guard:
        w.line(f"{lead}{guard}")
        lead += "    "
    w.line(f"{lead}{a.name}[{at}] = {a.name}[{at}] * 3 + {b.name}[{i}] + {r}")
    return [a, b]


def _every_other(w: Writer) -> list[Array]:
    """Tiles of which each other element is stored, or each other row; perhaps read again behind it."""
    tiles, tile = w.rng.randint(2, 4), w.pick((3, 4))
    a, b = _arrays(w, (tiles * tile,), (tiles * 2 * tile + 1,))
    t, i = _names(w, "t", "i")
    lead = _loops(w, (t, tiles), (i, tile))
    at = f"{t} * {2 * tile} + {i} * 2"
    w.line(f"{lead}{b.name}[{at}] = {a.name}[{t} * {tile} + {i}] + {i}")
    if w.chance(0.5):
        j = w.fresh("j")
        w.line(f"    for {j} in range({2 * tile}):")
        to = f"{a.name}[{t} * {tile} + {j} // 2]"
        w.line(f"        {to} = {to} + {b.name}[{t} * {2 * tile} + {j} + {w.pick((0, 1))}]")
    return [a, b]


def _sweeps(w: Writer) -> list[Array]:
    """Sweeps of a stencil, from one array into another one and back."""
    n, times = w.rng.randint(8, 20), w.pick((2, 3))
    a, b = _arrays(w, (n,), (n,))
    t, i, j = _names(w, "t", "i", "j")
    w.line(f"for {t} in range({times}):")
    for name, (source, to) in ((i, (a, b)), (j, (b, a))):
        w.line(f"    for {name} in range(1, {n - 1}):")
        s = source.name
        w.line(f"        {to.name}[{name}] = {s}[{name} - 1] + {s}[{name}] + {s}[{name} + 1]")
    return [a, b]


def _composed(w: Writer) -> list[Array]:
    """A function that a loop, or nothing, is around, on whole arrays."""
    tiles, tile = w.rng.randint(2, 4), w.pick((4, 8))
    a, b = _arrays(w, (tiles, tile), (tiles, tile))
    t, i = _names(w, "t", "i")
    name = w.fresh("part")
    inner = [Array("p", a.ty, a.shape), Array("q", b.ty, b.shape)]
    with w.function() as lines:
        lead = _loops(w, (t, tiles), (i, tile))
        w.line(f"{lead}q[{t}, {i}] = q[{t}, {i}] + p[{t}, {i}]")
        w.functions.append(_text(name, inner, list(lines)))
    if w.chance(0.5):
        w.line(f"{name}({a.name}, {b.name})")
    else:
        again = w.fresh("again")
        w.line(f"for {again} in range({w.pick((1, 2))}):")
        w.line(f"    {name}({a.name}, {b.name})")
    return [a, b]
