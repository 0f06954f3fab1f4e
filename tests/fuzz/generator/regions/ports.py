"""Regions whose arguments are streams of words or blocks: chains of processes that end, of any rates."""

from __future__ import annotations

from dataclasses import dataclass

from ..aimed.parts import element_type, expression
from ..program import Program
from ..types import Ty
from ..writer import Array, Scalar, Writer, annotation, argument_of


@dataclass(frozen=True, slots=True)
class Line:
    """A stream, its words (blocks where ``block`` is not 0), and how many pass in all."""

    name: str
    ty: Ty
    block: int
    words: int


def port_network(w: Writer, seed: int) -> Program:
    """One to three processes between a stream that is fed and one that is filled; some have arrays, too."""
    w.style.guards, w.style.depth = 0.0, 1
    w.style.math = w.style.power = False
    w.use("stream arguments")
    given: list[tuple[Array, str]] = []
    with w.function() as lines:
        trips = w.rng.randint(2, 8)
        come = _line(w, "A0", trips * w.pick((1, 1, 2)))
        spare = w.pick((0, 0, 1, 3))
        given.append((_words(come, come.words + spare), _port(w, come)))
        count, bodies = w.pick((1, 1, 2, 3)), list[list[str]]()
        for k in range(count):
            last = k == count - 1
            gives = w.pick((1, 1, 2, 3))
            takes = w.pick([n for n in (1, 1, 2, 3) if come.words % n == 0])
            go = _line(w, "Z0" if last else f"s{k}", come.words // takes * gives)
            if takes != gives:
                w.use("two rates")
            bodies.append(_process(w, k, (come, go), (takes, gives), given))
            if last:
                given.append((_words(go, go.words + w.pick((0, 0, 2))), _port(w, go)))
            else:
                w.line(f"{go.name}: {_port(w, go)}")
            come = go
        for body in bodies:
            w.lines.extend(body)
        text = list(lines)
    shown = ", ".join(f"{array.name}: {kind}" for array, kind in given)
    w.functions.append("\n".join(["@df.region()", f"def top({shown}):", *text]))
    arguments = [argument_of(array) for array, _ in given]
    return Program(seed, w.module(), "top", arguments, region=True, runs=2)


def _line(w: Writer, name: str, words: int) -> Line:
    ty = element_type(w)
    while ty.bits > 64:
        ty = element_type(w)
    return Line(name, ty, w.pick((0, 0, 0, 2, 3)), words)


def _port(w: Writer, line: Line) -> str:
    return (
        f"Stream[{annotation(line.ty, (line.block,) if line.block else None)}, {w.pick((1, 2, 4))}]"
    )


def _words(line: Line, count: int) -> Array:
    return Array(line.name, line.ty, (count, line.block) if line.block else (count,))


def _process(
    w: Writer,
    number: int,
    ends: tuple[Line, Line],
    rates: tuple[int, int],
    given: list[tuple[Array, str]],
) -> list[str]:
    """A loop that takes and gives so many words a turn, and mostly carries a sum."""
    (come, go), (takes, gives) = ends, rates
    turns = come.words // takes
    beside = Array(f"B{number}", come.ty, (turns,)) if w.chance(0.3) else None
    if beside:
        given.append((beside, annotation(beside.ty, beside.shape)))
    with w.function() as lines:
        w.line(f"@df.kernel(mapping=[1], args=[{beside.name if beside else ''}])")
        params = f"b: {annotation(beside.ty, beside.shape)}" if beside else ""
        w.line(f"def p{number}({params}):")
        with w.block():
            w.line(f"acc: {go.ty.text} = {w.rng.randint(0, 1)}")
            w.scope.scalars.append(Scalar("acc", go.ty))
            w.line(f"for t in range({turns}{w.pick(('', '', ', pipeline=True'))}):")
            with w.block():
                _turn(w, come, go, takes, gives)
                if beside:
                    w.line("b[t] = acc")
        body = list(lines)
    return body


def _turn(w: Writer, come: Line, go: Line, takes: int, gives: int) -> None:
    for k in range(takes):
        if come.block:
            w.line(f"v{k}: {annotation(come.ty, (come.block,))} = {come.name}.get()")
            w.scope.scalars += [
                Scalar(f"v{k}[{at}]", come.ty, writable=False) for at in range(come.block)
            ]
        else:
            w.line(f"v{k}: {come.ty.text} = {come.name}.get()")
            w.scope.scalars.append(Scalar(f"v{k}", come.ty))
    w.line(f"acc += {expression(w, 1).text}")
    for k in range(gives):
        if go.block:
            w.line(f"w{k}: {annotation(go.ty, (go.block,))} = 0")
            for at in range(go.block):
                w.line(f"w{k}[{at}] = {expression(w, 1).text}")
            w.line(f"{go.name}.put(w{k})")
        else:
            w.line(f"{go.name}.put({expression(w, 1).text})")
