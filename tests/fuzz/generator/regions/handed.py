"""Regions whose processes share state and arrays, each handed over by a word in a FIFO."""

from __future__ import annotations

from ..aimed.parts import assign, augment, element_type, expression, store
from ..program import Program
from ..types import Ty
from ..writer import Array, LoopVar, Scalar, Writer, annotation, argument_of


def handed_network(w: Writer, seed: int) -> Program:
    """Two to four processes, one after the other at what they share; one of them writes the shared array."""
    w.style.guards, w.style.depth = 0.0, 1
    w.style.math = w.style.power = False
    w.use("handed over")
    count = w.pick((2, 2, 3, 4))
    shared = Array("M", _type(w), (w.rng.randint(2, 6),)) if w.chance(0.5) else None
    kept: list[Array | Scalar] = [Array("q", _type(w), (w.rng.randint(2, 5),))]
    if w.chance(0.5):
        kept = [Scalar("u", _type(w)), *kept] if w.chance(0.5) else [Scalar("u", _type(w))]
    own = [Array(f"A{k}", _type(w), (w.rng.randint(2, 6),)) for k in range(count)]
    words = [_type(w) for _ in range(count - 1)]
    writer = w.rng.randrange(count)
    with w.function() as lines:
        for each in kept:
            shape = each.shape if isinstance(each, Array) else None
            w.line(f"{each.name}: {annotation(each.ty, shape)} @ Stateful = {w.rng.randint(0, 1)}")
        for k, ty in enumerate(words):
            w.line(f"go{k}: Stream[{ty.text}, {w.pick((1, 1, 2))}]")
        for k in range(count):
            given = Array("m", shared.ty, shared.shape, writable=k == writer) if shared else None
            _process(w, k, own[k], given, kept, words)
        body = list(lines)
    params = [*own, *([shared] if shared else [])]
    shown = ", ".join(f"{p.name}: {annotation(p.ty, p.shape)}" for p in params)
    w.functions.append("\n".join(["@df.region()", f"def top({shown}):", *body]))
    return Program(seed, w.module(), "top", [argument_of(p) for p in params], region=True, runs=3)


def _type(w: Writer) -> Ty:
    ty = element_type(w)
    while ty.bits > 64:
        ty = element_type(w)
    return ty


def _process(
    w: Writer,
    number: int,
    own: Array,
    shared: Array | None,
    kept: list[Array | Scalar],
    words: list[Ty],
) -> None:
    """It takes over, works on what is shared, hands over, and works on what is its own."""
    mine = Array("a", own.ty, own.shape)
    given = [own.name, *(["M"] if shared else [])]
    params = [f"a: {annotation(own.ty, own.shape)}"]
    params += [f"m: {annotation(shared.ty, shared.shape)}"] if shared else []
    w.line(f"@df.kernel(mapping=[1], args=[{', '.join(given)}])")
    w.line(f"def p{number}({', '.join(params)}):")
    saved, w.scope = w.scope, w.scope.copy()
    with w.block():
        w.scope.arrays.append(mine)
        if number:
            w.line(f"g: {words[number - 1].text} = go{number - 1}.get()")
            w.scope.scalars.append(Scalar("g", words[number - 1]))
        before = w.scope.copy()
        w.scope.arrays += [each for each in kept if isinstance(each, Array)]
        w.scope.arrays += [shared] if shared else []
        w.scope.scalars += [each for each in kept if isinstance(each, Scalar)]
        for _ in range(w.rng.randint(1, 2)):
            _work(w)
        for each in kept:  # only from one that touches it the next one may take it over
            w.line(f"{each.name}{'[0]' if isinstance(each, Array) else ''} += {number + 1}")
        word = expression(w, 1).text
        w.scope = before
        if number < len(words):
            w.line(f"go{number}.put({word})")
            if w.chance(0.6):
                _work(w)
        else:
            w.line(f"a[0] = {word}")
    w.scope = saved


def _work(w: Writer) -> None:
    """A statement, or a loop of some."""
    if w.chance(0.4):
        w.pick((store, augment, assign))(w)
        return
    trips, name = w.rng.randint(2, 6), w.fresh("i")
    w.line(f"for {name} in range({trips}):")
    with w.block():
        w.scope.loops.append(LoopVar(name, 0, trips - 1))
        for _ in range(w.rng.randint(1, 2)):
            w.pick((store, augment))(w)
