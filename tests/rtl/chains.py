"""Random pipelined loops of integer chains: casts and conditions between, sums that iterations carry."""

from __future__ import annotations

import random

from .differential import function

MODULAR = ("addi", "addi", "addi", "subi", "muli", "andi", "ori", "xori")
EXTREMES = ("maxsi", "minsi", "maxui", "minui")
WORDS = 6
ROWS = 8


class RandomChains:
    """Writes one program; ``text`` is its core IR, of a function ``f``."""

    def __init__(self, seed: int, *, most: int = 130) -> None:
        self._r = random.Random(seed)
        self._most = most
        self._lines: list[str] = []
        self._widths: dict[str, int] = {}
        self._stored = 0
        self.text = self._program()

    def _new(self, text: str, width: int) -> str:
        name = f"%v{len(self._lines)}"
        self._lines.append(f"{name} = {text}")
        self._widths[name] = width
        return name

    def _width(self) -> int:
        return self._r.choice((1, 2, 5, 8, 16, 31, 32, 33, 64, self._r.randint(1, self._most)))

    def _cast(self, value: str, width: int) -> str:
        own = self._widths[value]
        if own == width:
            return value
        name = "trunci" if width < own else self._r.choice(("extsi", "extui"))
        return self._new(f"arith.{name} {value} : i{own} to i{width}", width)

    def _constant(self, width: int) -> str:
        value = self._r.choice((0, 1, 3, -1, self._r.getrandbits(width)))
        value &= (1 << width) - 1
        signed = value - (value >> (width - 1) << width)
        text = str(bool(value)).lower() if width == 1 else f"{signed} : i{width}"
        return self._new(f"arith.constant {text}", width)

    def _condition(self, values: list[str]) -> str:
        a = self._r.choice(values)
        width = self._widths[a]
        b = self._constant(width)
        kind = self._r.choice(("eq", "slt", "ugt", "sge"))
        return self._new(f"arith.cmpi {kind}, {a}, {b} : i{width}", 1)

    def _operand(self, pool: list[str], width: int) -> str:
        """A value that nothing else uses, mostly, as wide as asked."""
        if self._r.random() < 0.1:
            return self._constant(width)
        value = self._r.choice(pool)
        if self._r.random() < 0.8 and len(pool) > 2:
            pool.remove(value)
        return self._cast(value, width)

    def _chain(self, start: str, pool: list[str], family: tuple[str, ...], width: int) -> str:
        """A value and some of the pool by one operation or a few, with casts on the way."""
        value = start
        for _ in range(self._r.randint(1, 6)):
            step = width if self._r.random() < 0.5 else self._wider(width)
            if self._r.random() < 0.15:
                value = self._fixed_point(value, pool, width)
            old = value
            before = self._cast(value, step)
            pair = [before, self._operand(pool, step)]
            if self._r.random() < 0.3:
                pair.reverse()
            op = self._r.choice(family)
            made = self._new(f"arith.{op} {pair[0]}, {pair[1]} : i{step}", step)
            value = self._cast(made, width)
            if self._r.random() < 0.25 and self._widths[old] == width:
                sides = [value, old] if self._r.random() < 0.5 else [old, value]
                condition = self._condition(pool)
                value = self._new(
                    f"arith.select {condition}, {sides[0]}, {sides[1]} : i{width}", width
                )
        return value

    def _fixed_point(self, value: str, pool: list[str], width: int) -> str:
        """A value plus or minus one of the pool with more bits behind the point, cut off again."""
        low = self._r.randint(1, 6)
        wide = width + low + self._r.randint(0, 2)
        by = self._new(f"arith.constant {low} : i{wide}", wide)
        raised = self._new(f"arith.shli {self._cast(value, wide)}, {by} : i{wide}", wide)
        pair = [raised, self._operand(pool, wide)]
        if self._r.random() < 0.4:
            pair.reverse()
        total = self._new(
            f"arith.{self._r.choice(('addi', 'subi'))} {pair[0]}, {pair[1]} : i{wide}", wide
        )
        op = self._r.choice(("shrsi", "shrui"))
        return self._cast(self._new(f"arith.{op} {total}, {by} : i{wide}", wide), width)

    def _wider(self, width: int) -> int:
        return min(self._most, width + self._r.choice((1, 1, 2, width)))

    def _family(self) -> tuple[str, ...]:
        kind = self._r.random()
        if kind < 0.45:
            return ("addi", "addi", "subi")
        if kind < 0.85:
            return (self._r.choice((*MODULAR, *EXTREMES)),)
        return (*MODULAR, *EXTREMES)

    def _store(self, value: str) -> None:
        for low in range(0, self._widths[value], 64):
            part, width = value, self._widths[value]
            if low:
                by = self._new(f"arith.constant {low} : i{width}", width)
                part = self._new(f"arith.shrui {value}, {by} : i{width}", width)
            word = self._cast(part, 64)
            self._lines.append(f"affine.store {word}, %out[%i, {self._stored}] : OUT")
            self._stored += 1

    def _program(self) -> str:
        carried = self._r.random() < 0.7
        width = self._width()
        head = []
        if carried:
            element = f"memref<i{width}>"
            zero = "false" if width == 1 else f"0 : i{width}"
            head = [
                f'%acc = memref.alloc() {{name = "acc"}} : {element}',
                f"%zero = arith.constant {zero}",
                f"affine.store %zero, %acc[] : {element}",
            ]
        spread = self._r.random() < 0.7
        layout = ", affine_map<(d0, d1) -> (0, d1, d0, 0)>" if spread else ""
        memory = f"memref<{ROWS}x{WORDS}xi64{layout}>"
        pool = []
        for j in range(WORDS):
            word = self._new(f"affine.load %in[%i, {j}] : {memory}", 64)
            pool += [self._cast(word, self._width()) for _ in range(2)]
        if carried:
            old = self._new(f"affine.load %acc[] : {element}", width)
            value = self._chain(old, pool, self._family(), width)
            self._lines.append(f"affine.store {value}, %acc[] : {element}")
            self._store(value)
        for _ in range(self._r.randint(1, 3)):
            width = self._width()
            start = self._cast(pool.pop(0), width)
            value = self._chain(start, pool, self._family(), width)
            pool.append(value)
            self._store(value)
        lines = "\n".join(self._lines).replace(": OUT", f": memref<{ROWS}x{self._stored}xi64>")
        loop = 'loop_name = "i", op_name = "S_i_0", pipeline_ii = 1 : ui32'
        body = [*head, f"affine.for %i = 0 to {ROWS} {{", lines, f"}} {{{loop}}}", "return"]
        return function(
            "\n".join(body),
            {"in": (memory, "ui64"), "out": (f"memref<{ROWS}x{self._stored}xi64>", "ui64")},
        )
