"""Random dataflow regions: chains of kernels with forks and joins, rates, conditions, pipelining."""

from __future__ import annotations

import random

KINDS = ("i8", "i16", "i32", "f32")


class RandomRegion:
    """Writes one random region; ``text`` is its core IR and ``top`` its function."""

    top = "top"

    def __init__(self, seed: int, *, pipelined: float = 0.6) -> None:
        self._r = random.Random(seed)
        self._pipelined = pipelined
        self._kind = self._r.choice(KINDS)
        self._streams: list[tuple[str, int]] = []
        self._kernels: list[str] = []
        self._calls: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self.text = self._region()

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _line(self, text: str) -> None:
        self._lines.append(f"  {text}")

    def _stream(self, depth: int | None = None) -> str:
        name = f"s{len(self._streams)}"
        self._streams.append((name, depth or self._r.choice((1, 2, 2, 3, 8))))
        return name

    def _region(self) -> str:
        words = self._r.choice((8, 12, 24))
        stream = self._source(words)
        for _ in range(self._r.randint(1, 3)):
            if self._r.random() < 0.3:
                stream, words = self._diamond(stream, words)
            else:
                stream, words = self._stage(stream, words)
        self._sink(stream, words)
        kind = self._kind
        sizes = f"%A: memref<{self._first}x{kind}>, %B: memref<{words}x{kind}>"
        letter = "_" if kind == "f32" else "s"
        head = (
            f'func.func @top({sizes}) attributes {{dataflow, region, arg_names = ["A", "B"], '
            f'arg_types = ["{kind}", "{kind}"], itypes = "{letter * 2}", otypes = "", '
            "res_types = []} {"
        )
        streams = [
            f'  %{name} = "allo.stream"() {{name = "{name}", dtype = "{kind}", '
            f"depth = {depth} : i32}} : () -> index"
            for name, depth in self._streams
        ]
        self._r.shuffle(self._calls)
        body = [*streams, *self._calls, "  return", "}"]
        return "\n".join(["module {", *self._kernels, head, *body, "}"])

    def _kernel(self, name: str, arguments: list[tuple[str, str, str]]) -> None:
        """Close the kernel whose lines were written; arguments are name, type, declared type."""
        formal = ", ".join(f"%{n}: {kind}" for n, kind, _ in arguments)
        names = ", ".join(f'"{n}"' for n, _, _ in arguments)
        types = ", ".join(f'"{declared}"' for _, _, declared in arguments)
        head = (
            f"func.func @{name}({formal}) attributes {{arg_names = [{names}], "
            f'arg_types = [{types}], itypes = "{"_" * len(arguments)}", otypes = "", '
            "res_types = []} {"
        )
        self._kernels += [head, *self._lines, "  return", "}"]
        self._lines = []
        actual = ", ".join(f"%{n.replace('arr', '')}" for n, _, _ in arguments)
        kinds = ", ".join(kind for _, kind, _ in arguments)
        self._calls.append(f"  call @{name}({actual}) : ({kinds}) -> ()")

    def _stream_argument(self, name: str) -> tuple[str, str, str]:
        depth = next(d for n, d in self._streams if n == name)
        return name, "index", f"stream<{self._kind}, {depth}>"

    def _loop(self, trips: int, body: list[str], iterator: str) -> None:
        pipelined = self._r.random() < self._pipelined
        mark = f", pipeline_ii = {self._r.choice((1, 1, 2))} : ui32" if pipelined else ""
        self._line(f"affine.for {iterator} = 0 to {trips} {{")
        self._lines += body
        self._line(f'}} {{loop_name = "{iterator[1:]}"{mark}}}')

    def _recorded(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines

    def _source(self, words: int) -> str:
        self._first = words
        out, kind = self._stream(), self._kind
        value = self._fresh()
        self._line(f"{value} = affine.load %arrA[%i] : memref<{words}x{kind}>")
        self._put(out, value)
        self._loop(words, self._recorded(), "%i")
        array = ("arrA", f"memref<{words}x{kind}>", kind)
        self._kernel("source", [array, self._stream_argument(out)])
        return out

    def _sink(self, stream: str, words: int) -> None:
        value, kind = self._get(stream), self._kind
        self._line(f"affine.store {value}, %arrB[%i] : memref<{words}x{kind}>")
        self._loop(words, self._recorded(), "%i")
        array = ("arrB", f"memref<{words}x{kind}>", kind)
        self._kernel("sink", [array, self._stream_argument(stream)])

    def _stage(self, stream: str, words: int) -> tuple[str, int]:
        """Takes some words and puts some in every iteration."""
        gets = self._r.choice([n for n in (1, 1, 2, 3, 4) if words % n == 0])
        puts = self._r.choice((1, 1, 2, 3))
        out, trips = self._stream(), words // gets
        taken = [self._get(stream) for _ in range(gets)]
        total = taken[0]
        for value in taken[1:]:
            total = self._combine(total, value)
        if self._r.random() < 0.4:
            total = self._combine(total, total)
        condition = self._condition(taken[0]) if self._r.random() < 0.4 else ""
        for number in range(puts):
            value = total if number == 0 else self._combine(total, taken[number % gets])
            if condition:
                self._put_either(out, condition, value, taken[0])
            else:
                self._put(out, value)
        self._loop(trips, self._recorded(), "%i")
        ends = [self._stream_argument(stream), self._stream_argument(out)]
        self._kernel(f"stage{len(self._kernels)}", ends)
        return out, trips * puts

    def _diamond(self, stream: str, words: int) -> tuple[str, int]:
        """Forks every word, works on one side, joins."""
        left, right = self._stream(), self._stream(16)
        value = self._get(stream)
        self._put(left, value)
        self._put(right, value)
        self._loop(words, self._recorded(), "%i")
        ends = [self._stream_argument(s) for s in (stream, left, right)]
        self._kernel(f"fork{len(self._kernels)}", ends)
        out = self._stream()
        a, b = self._get(left), self._get(right)
        self._put(out, self._combine(a, b))
        self._loop(words, self._recorded(), "%i")
        ends = [self._stream_argument(s) for s in (left, right, out)]
        self._kernel(f"join{len(self._kernels)}", ends)
        return out, words

    def _get(self, stream: str) -> str:
        name = self._fresh()
        self._line(f'{name} = "allo.get"(%{stream}) : (index) -> {self._kind}')
        return name

    def _put(self, stream: str, value: str) -> None:
        self._line(f'"allo.put"(%{stream}, {value}) : (index, {self._kind}) -> ()')

    def _put_either(self, stream: str, condition: str, a: str, b: str) -> None:
        self._line(f"scf.if {condition} {{")
        self._put(stream, a)
        self._line("} else {")
        self._put(stream, b)
        self._line("}")

    def _combine(self, a: str, b: str) -> str:
        name = self._fresh()
        if self._kind == "f32":
            operation = self._r.choice(("addf", "mulf", "subf"))
        else:
            operation = self._r.choice(("addi", "muli", "xori", "subi"))
        self._line(f"{name} = arith.{operation} {a}, {b} : {self._kind}")
        return name

    def _condition(self, value: str) -> str:
        name, other = self._fresh(), self._fresh()
        if self._r.random() < 0.5:
            self._line(f"{other} = arith.constant 3 : index")
            self._line(f"{name} = arith.cmpi slt, %i, {other} : index")
        elif self._kind == "f32":
            self._line(f"{other} = arith.constant 0.0 : f32")
            self._line(f"{name} = arith.cmpf olt, {value}, {other} : f32")
        else:
            self._line(f"{other} = arith.constant 0 : {self._kind}")
            self._line(f"{name} = arith.cmpi slt, {value}, {other} : {self._kind}")
        return name
