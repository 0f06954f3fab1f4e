"""Pipelines one after the other, over arrays that they share: a sweep reads what the one before stores."""

from __future__ import annotations

from ..program import Program, Step
from ..writer import Array, LoopVar, Scalar, Writer
from .parts import element_type, integer_type, into_scope, kernel, reached

ROWS, COLUMNS, LENGTH = 5, 4, 20


class _Sweeps:
    """Writes the regions of one function, and the steps that pipeline them."""

    def __init__(self, w: Writer, params: list[Array | Scalar]) -> None:
        self._w = w
        self._arrays = [p for p in params if isinstance(p, Array)]
        self._scalar = params[-1].name
        self._band = ""
        self._loops = 0
        # Only where the cycles of a function are known do its regions overlap.
        self._known, self._tidy = w.chance(0.85), w.chance(0.7)
        self.steps: list[Step] = []

    def region(self, deeper: int) -> None:
        """A sweep, a nest, or code around some of them."""
        w, choice = self._w, self._w.rng.random()
        if not deeper or choice < 0.6:
            self._vector() if w.chance(0.45) else self._table()
        elif choice < 0.7:
            self._on_units()
        elif choice < 0.85:
            self._around(deeper)
        elif self._known:
            self._statement()
        elif choice < 0.93:
            self._branches(deeper)
        else:
            self._left_early()

    def _open(self, low: int, trips: int, step: int = 1, upper: str = "") -> LoopVar:
        """A loop up or down; ``upper`` bounds one from 0 at run time or by another iterator."""
        w, name = self._w, f"i{self._loops}"
        last = low + (trips - 1) * step
        if not w.scope.loops:
            self._band = f"S_{name}_{self._loops}"
        self._loops += 1
        if upper:
            w.line(f"for {name} in range({upper}):")
        elif w.chance(0.75):
            w.line(f"for {name} in range({low}, {last + 1}, {step}):")
        else:
            w.line(f"for {name} in range({last}, {low - 1}, -{step}):")
        loop = LoopVar(name, low, last)
        w.scope.loops.append(loop)
        w.depth += 1
        return loop

    def _close(self) -> None:
        self._w.scope.loops.pop()
        self._w.depth -= 1

    def _pipeline(self, loop: LoopVar) -> None:
        w = self._w
        where = {"loop": ["kernel", self._band, loop.name]}
        if w.chance(0.35):
            self.steps.append(Step("unroll", (where, w.pick((2, 2, 4)))))
        if w.chance(0.95):
            kwargs = (("rewind", True),) if w.chance(0.15) else ()
            self.steps.append(Step("pipeline", (where, w.pick((1, 1, 1, 2, 3))), kwargs))

    def _vector(self) -> None:
        w = self._w
        step = w.pick((1, 1, 1, 2, 3))
        trips = w.rng.randint(2, LENGTH // step)
        upper = f"{self._scalar} & 15" if not self._known and w.chance(0.3) else ""
        last = 14 if upper else (trips - 1) * step
        low = 0 if upper else w.rng.randint(0, LENGTH - 1 - last)
        loop = self._open(low, 15, 1, upper) if upper else self._open(low, trips, step)
        self._statements()
        self._close()
        self._pipeline(loop)

    def _table(self) -> None:
        """Both orders of a table, a triangle of it, or part of it, with code around the inner loop or not."""
        w = self._w
        outer = self._open(w.pick((0, 0, 0, 1)), w.pick((3, 4, 4)))
        before = w.chance(0.2)
        if before:
            self._statement()
        if w.chance(0.3):
            inner = self._open(0, outer.high + 1, 1, f"{outer.name} + {w.rng.randint(0, 1)}")
        else:
            inner = self._open(0, w.rng.randint(2, 5))
        self._statements()
        self._close()
        if w.chance(0.2):
            self._statement()
        self._close()
        self._pipeline(inner)

    def _on_units(self) -> None:
        """A deep sum and a flat one, and then two flat ones: the first units are free when they start."""
        w, vectors = self._w, [a.name for a in self._arrays if a.shape == (LENGTH,)]
        x, y, z, source = w.rng.sample(vectors, 4)
        other, (deep, flat) = w.pick((source, source, x)), w.rng.sample("+-", 2)
        pair = [f"[{{0}}] = {source}[{{0}}] {deep} 3 {flat} {other}[{{0}}]"]
        pair.append(f"[{{0}}] = {source}[{{0}}] {deep} 5")
        for stores in (
            [x + pair[0], y + pair[1]],
            [f"{z}[{{0}}] = ({other}[{{0}}] + 1) * ({source}[{{0}}] {deep} 2)"],
        ):
            loop = self._open(0, w.rng.randint(10, LENGTH))
            for store in stores:
                w.line(store.format(loop.name))
            self._close()
            self._pipeline(loop)

    def _around(self, deeper: int) -> None:
        w = self._w
        outer = self._open(0, w.rng.randint(2, 3))
        for _ in range(w.pick((1, 2, 2))):
            if w.chance(0.4):
                self._row(outer)
            else:
                self.region(deeper - 1)
        self._close()

    def _row(self, outer: LoopVar) -> None:
        """A row of a table, from rows that this iteration of the loop around stores, or the last one."""
        w = self._w
        loop = self._open(0, COLUMNS)
        at = [f"[{outer.name} + {w.rng.randint(0, 2)}, {loop.name}]" for _ in range(3)]
        a, b, c = (w.pick(("T0", "T0", "T1")) + place for place in at)
        w.line(f"{a} = {b} {w.pick(('*', '+'))} {c} + {w.rng.randint(1, 9)}")
        self._close()
        self._pipeline(loop)

    def _branches(self, deeper: int) -> None:
        w = self._w
        w.line(f"if {self._scalar} > {w.rng.randint(-3, 9)}:")
        w.depth += 1
        self.region(deeper - 1)
        w.depth -= 1
        if w.chance(0.5):
            w.line("else:")
            w.depth += 1
            self.region(deeper - 1)
            w.depth -= 1

    def _left_early(self) -> None:
        w = self._w
        self._open(0, w.rng.randint(4, LENGTH))
        self._statement()
        w.line(f"if {self._element()} > {w.rng.randint(2, 90)}:")
        w.line("    break")
        self._close()

    def _statements(self) -> None:
        for _ in range(self._w.pick((1, 1, 2))):
            self._statement()

    def _statement(self) -> None:
        """A store of what takes its time, perhaps under a condition."""
        w = self._w
        parts = [self._element() for _ in range(w.pick((1, 2, 2, 3, 4)))]
        while len(parts) > 1:
            one, other = (parts.pop(w.rng.randrange(len(parts))) for _ in range(2))
            parts.append(f"({one} {w.pick(('+', '-', '*'))} {other})")
        text = parts[0]
        if w.chance(0.4):
            text = f"{text} + {w.rng.randint(1, 9)}"
        guarded = w.chance(0.1)
        if guarded:
            w.line(f"if {reached(w)}:")
            w.depth += 1
        w.line(f"{self._element()} = {text}")
        w.depth -= guarded

    def _element(self) -> str:
        array = self._w.pick(self._arrays)
        at = [self._place(extent) for extent in array.shape]
        return f"{array.name}[{', '.join(at)}]"

    def _place(self, extent: int) -> str:
        """A subscript inside an extent."""
        w, last = self._w, extent - 1
        loops = w.scope.loops
        if not loops or w.chance(0.03):
            return str(w.rng.randrange(extent))
        if extent == LENGTH and len(loops) > 1 and w.chance(0.7):
            u, v = loops[-2:]
            if u.high * COLUMNS + v.high <= last:
                return f"{COLUMNS} * {u.name} + {v.name}"
        v = loops[-1] if extent != ROWS or len(loops) == 1 else loops[-2]
        if v.high <= last and w.chance(0.8 if self._tidy else 0.3):
            return v.name
        v = w.pick(loops)
        choices = [f"({v.name} + {w.rng.randint(0, last)}) % {extent}"]
        if v.high <= last:
            choices += [v.name, v.name, f"{last} - {v.name}", f"{v.name} // 2"]
            choices += [f"{v.name} + {w.rng.randint(0, last - v.high)}"]
        if 2 * v.high + 1 <= last:
            choices += [f"2 * {v.name}", f"2 * {v.name} + 1", f"{last} - 2 * {v.name}"]
        return w.pick(tuple(choices))


def sweep_kernel(w: Writer, seed: int) -> Program:
    """A function of two to five regions, over tables and vectors, in banks or not."""
    w.style.depth = 1
    w.style.math = w.style.power = False
    w.style.floats = w.pick((0.0, 1.0, 1.0))
    kinds = [element_type(w), element_type(w) if w.chance(0.5) else integer_type(w)]
    kinds = [kinds[0], kinds[0] if w.chance(0.6) else kinds[1]]
    params: list[Array | Scalar] = [
        Array("T0", kinds[0], (ROWS, COLUMNS)),
        Array("T1", w.pick(kinds), (ROWS, COLUMNS)),
        Array("V0", kinds[0], (LENGTH,)),
        Array("V1", w.pick(kinds), (LENGTH,)),
        Array("V2", kinds[0], (LENGTH,)),
        Array("V3", kinds[0], (LENGTH,)),
        Scalar("n0", integer_type(w, 33)),
    ]
    with w.function() as lines:
        w.result = None
        into_scope(w, params)
        sweeps = _Sweeps(w, params)
        for _ in range(w.pick((2, 3, 3, 4, 5))):
            sweeps.region(2)
        body = list(lines)
    w.use("sweeps")
    program = kernel(w, seed, params, None, body)
    banks = []
    for array in params[:-1]:
        if isinstance(array, Array) and w.chance(0.3):
            dim, factor = w.rng.randint(1, len(array.shape)), w.pick((0, 2, 2, 4))
            kind = "Complete" if not factor else w.pick(("Cyclic", "Block"))
            target = {"buffer": ["kernel", array.name]}
            banks.append(Step("partition", (target, {"partition": kind}, dim, factor)))
    program.steps = [*banks, *sweeps.steps]
    return program
