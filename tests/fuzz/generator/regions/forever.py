"""Networks with processes that never end: chains of relays between words that come and words that are wanted.

A relay takes words, and puts words made of them, for ever; it keeps sums from turn to turn. Words come from
a process that ends, or from a stream of the region's arguments, and go to one or to another. In some regions
two of the processes that end hand a state over to each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..aimed.parts import element_type, expression
from ..program import Program
from ..types import Ty
from ..writer import Array, Scalar, Writer, annotation, argument_of


@dataclass(frozen=True, slots=True)
class Fifo:
    """A FIFO of the chain, and how many words pass it at most."""

    name: str
    ty: Ty
    words: int


def forever_network(w: Writer, seed: int) -> Program:
    """One to four relays in a chain."""
    w.style.guards, w.style.depth = 0.0, 1
    w.style.math = w.style.power = False
    fed = w.chance(0.4)
    filled = fed and w.chance(
        0.6
    )  # a process that ends would end the region before all words are there
    first = Fifo("A0" if fed else "s0", _type(w), w.rng.randint(2, 12))
    params: list[str] = []
    given: list[Array] = []
    with w.function() as lines:
        chain, bodies = [first], list[list[str]]()
        for number in range(w.pick((1, 1, 2, 3, 4))):
            chain.append(_relay(w, number, chain[-1], bodies, tries=not filled))
        last = chain[-1]
        if filled:
            last = chain[-1] = Fifo("Z0", last.ty, last.words)
            bodies[-1] = [
                line.replace(f"{_name(len(chain) - 1)}.put", "Z0.put") for line in bodies[-1]
            ]
        for fifo in chain:
            if fifo.name.startswith("s"):
                w.line(f"{fifo.name}: Stream[{fifo.ty.text}, {w.pick((1, 1, 2, 3, 8))}]")
        shared = not fed and not filled and w.chance(0.4)
        if shared:
            w.line(f"kept: int32[2] @ Stateful = {w.rng.randint(-3, 9)}")
            w.line("turn: Stream[int32, 1]")
        source = _source(w, first, fed, shared)
        sink = _sink(w, last, (fed, filled), shared)
        for array, is_port in ((source, fed), (sink, filled)):
            given.append(array)
            kind = f"Stream[{array.ty.text}, 2]" if is_port else annotation(array.ty, array.shape)
            params.append(f"{array.name}: {kind}")
        for body in bodies:
            w.lines.extend(body)
        text = list(lines)
    if fed:
        w.use("stream arguments")
    if filled:
        w.use("no end")
    if shared:
        w.use("handed over")
    w.functions.append("\n".join(["@df.region()", f"def top({', '.join(params)}):", *text]))
    arguments = [argument_of(array) for array in given]
    return Program(seed, w.module(), "top", arguments, region=True, runs=2)


def _name(number: int) -> str:
    return f"s{number}"


def _type(w: Writer) -> Ty:
    ty = element_type(w)
    while ty.bits > 64:
        ty = element_type(w)
    return ty


def _source(w: Writer, fifo: Fifo, fed: bool, shared: bool) -> Array:
    array = Array("A0", fifo.ty, (fifo.words,))
    if fed:
        return array
    w.line("@df.kernel(mapping=[1], args=[A0])")
    w.line(f"def source(a: {annotation(array.ty, array.shape)}):")
    with w.block():
        if shared:
            w.line(f"kept[{w.pick((0, 1))}] += {w.rng.randint(1, 5)}")
            w.line(f"turn.put({w.rng.randint(0, 3)})")
        w.line(f"for t in range({fifo.words}):")
        with w.block():
            w.line("s0.put(a[t])")
    return array


def _sink(w: Writer, fifo: Fifo, outside: tuple[bool, bool], shared: bool) -> Array:
    """Fewer words may be wanted than there are, unless a process waits to put all of them."""
    fed, filled = outside
    wanted = w.rng.randint(1, fifo.words) if fed and w.chance(0.6) else fifo.words
    if filled:
        return Array("Z0", fifo.ty, (wanted + w.pick((0, 0, 2)),))
    array = Array("Z0", fifo.ty, (wanted,))
    w.line("@df.kernel(mapping=[1], args=[Z0])")
    w.line(f"def sink(z: {annotation(array.ty, array.shape)}):")
    with w.block():
        if shared:
            w.line("k: int32 = turn.get()")
            w.line("kept[0] = kept[0] + kept[1] + k")
        w.line(f"for t in range({wanted}):")
        with w.block():
            extra = " + kept[0]" if shared and fifo.ty.kind == "int" else ""
            w.line(f"z[t] = {fifo.name}.get(){extra}")
    return array


def _relay(w: Writer, number: int, come: Fifo, bodies: list[list[str]], *, tries: bool) -> Fifo:
    """A process that never ends; its FIFO. It wants words for at least one turn."""
    takes = w.pick([n for n in (1, 1, 2, 3) if n <= max(1, come.words)])
    gives = w.pick((1, 1, 2))
    go = Fifo(_name(number + 1), _type(w), come.words // takes * gives)
    if not go.words:
        takes, go = 1, Fifo(go.name, go.ty, max(1, come.words * gives))
    with w.function() as lines:
        w.depth = 1
        w.line("@df.kernel(mapping=[1])")
        w.line(f"def r{number}():")
        with w.block():
            if w.chance(0.5):
                w.line(f"acc: {go.ty.text} = {w.rng.randint(0, 3)}")
                w.scope.scalars.append(Scalar("acc", go.ty))
            w.line("while True:")
            with w.block():
                _turn(w, come, go, takes, gives, tries=tries and w.chance(0.2))
        bodies.append(list(lines))
    return go


def _turn(w: Writer, come: Fifo, go: Fifo, takes: int, gives: int, *, tries: bool) -> None:
    if takes == 1 and tries:
        w.line(f"v0, ok = {come.name}.try_get()")
        w.line("if ok:")
        with w.block():
            _puts(w, come, go, 1, gives)
        return
    for k in range(takes):
        w.line(f"v{k}: {come.ty.text} = {come.name}.get()")
    _puts(w, come, go, takes, gives)


def _puts(w: Writer, come: Fifo, go: Fifo, takes: int, gives: int) -> None:
    kept = [*w.scope.scalars]
    w.scope.scalars += [Scalar(f"v{k}", come.ty) for k in range(takes)]
    if any(scalar.name == "acc" for scalar in kept):
        w.line(f"acc += {expression(w, 1).text}")
    for _ in range(gives):
        w.line(f"{go.name}.put({expression(w, 1).text})")
    w.scope.scalars[:] = kept
