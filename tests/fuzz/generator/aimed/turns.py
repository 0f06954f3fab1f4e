"""Pipelines over buffers whose banks take turns: rotating rows, double buffers, copies of a loop in banks."""

from __future__ import annotations

from ..program import Program, Step
from ..writer import Array, LoopVar, Scalar, Writer
from .parts import element_type, expression, integer_type, into_scope, kernel, reached


def turn_kernel(w: Writer, seed: int) -> Program:
    """A nest of one to three loops that reads and writes two buffers at remainders of its iterators."""
    w.style.depth = 1
    w.style.math = w.style.power = False
    banks, columns = w.rng.randint(2, 8), w.rng.randint(2, 5)
    ty = integer_type(w) if w.chance(0.8) else element_type(w)
    params: list[Array | Scalar] = [
        Array("A0", ty, (banks, columns)),
        Array("A1", ty if w.chance(0.6) else element_type(w), (banks * w.pick((1, 1, 2, 3)),)),
        Array("B", ty, (columns,)),
        Scalar("n0", integer_type(w, 33)),
    ]
    with w.function() as lines:
        w.result = None
        into_scope(w, params)
        loops = [_loop(w, name) for name in ("t0", "u0", "i0")[: w.pick((1, 1, 2, 2, 3))]]
        for _ in range(w.pick((2, 3, 3, 4, 6))):
            _statement(w, loops, params)
        body = list(lines)
    w.use("turns")
    program = kernel(w, seed, params, None, body)
    band = f"S_{loops[0].name}_0"
    inner: object = {"loop": ["kernel", band, loops[-1].name]}
    steps = []
    for array in params[:2]:
        if isinstance(array, Array) and w.chance(0.85):
            dims = w.rng.sample(range(1, len(array.shape) + 1), w.rng.randint(1, len(array.shape)))
            for dim in dims if w.chance(0.4) else (1,):
                kind = w.pick(("Complete", "Complete", "Cyclic", "Cyclic", "Block"))
                factor = 0 if kind == "Complete" else w.rng.randint(2, 4)
                target = {"buffer": ["kernel", array.name]}
                steps.append(Step("partition", (target, {"partition": kind}, dim, factor)))
    if len(loops) > 1 and w.chance(0.3):
        steps.append(Step("unroll", (inner, w.pick((0, 0, 2)))))
        inner = {"loop": ["kernel", band, loops[-2].name]}
    if w.chance(0.9):
        kwargs = (("rewind", True),) if w.chance(0.2) else ()
        steps.append(Step("pipeline", (inner, w.pick((1, 1, 1, 2, 3))), kwargs))
    program.steps = steps
    return program


def _loop(w: Writer, name: str) -> LoopVar:
    """A loop up or down, from anywhere, by any step."""
    trips, step, low = w.rng.randint(2, 7), w.pick((1, 1, 1, 2, 3)), w.rng.randint(-4, 4)
    last = low + (trips - 1) * step
    if w.chance(0.8):
        w.line(f"for {name} in range({low}, {last + w.rng.randint(1, step)}, {step}):")
    else:
        w.line(f"for {name} in range({last}, {low - w.rng.randint(1, step)}, -{step}):")
    loop = LoopVar(name, low, last)
    w.scope.loops.append(loop)
    w.depth += 1
    return loop


def _statement(w: Writer, loops: list[LoopVar], params: list[Array | Scalar]) -> None:
    """A store, perhaps under a condition, of what a few elements give."""
    arrays = [p for p in params[:2] if isinstance(p, Array)]
    parts = [_element(w, loops, w.pick(arrays)) for _ in range(w.pick((1, 2, 2, 3)))]
    if w.chance(0.4):
        parts.append(w.pick(("n0", loops[-1].name, expression(w).text)))
    text = parts[0]
    for part in parts[1:]:
        text = f"{text} {w.pick(('+', '-', '+', '*'))} {part}"
    target = _element(w, loops, w.pick(arrays))
    if w.chance(0.2):
        w.line(f"if {reached(w)}:")
        w.depth += 1
        w.line(f"{target} = {text}")
        w.depth -= 1
    else:
        w.line(f"{target} = {text}")


def _element(w: Writer, loops: list[LoopVar], array: Array) -> str:
    return f"{array.name}[{', '.join(_turning(w, loops, extent) for extent in array.shape)}]"


def _turning(w: Writer, loops: list[LoopVar], extent: int) -> str:
    """A remainder of iterators, mostly; a mask where the extent is a power of two."""
    terms = []
    for loop in w.rng.sample(loops, w.rng.randint(1, len(loops))):
        factor = w.pick((1, 1, 1, 1, 2, 3, extent, -1))
        terms.append(loop.name if factor == 1 else f"{factor} * {loop.name}")
    offset = w.rng.randint(-extent, 2 * extent)
    text = " + ".join([*terms, str(offset)]) if offset else " + ".join(terms)
    choice = w.rng.random()
    if choice < 0.1:
        return str(w.rng.randrange(extent))
    if choice < 0.3 and extent & (extent - 1) == 0:
        return f"({text}) & {extent - 1}"
    divisor = extent if choice < 0.85 else w.rng.randint(1, extent)
    return f"({text}) % {divisor}"
