"""Random regions whose processes wait for streams and for ports of the same memories, as programs."""

from __future__ import annotations

import linecache
import random

import numpy as np

import allo.dataflow as df
from allo.customize import Schedule

WORDS = 6
"""Words that each stream passes, and elements of a row."""


def source_of(seed: int) -> tuple[str, list[str]]:
    """A chain of processes that use their rows of two arrays; loops that are to be pipelined.

    Some of them run a region of two processes and a FIFO, which use the same row.
    """
    rng = random.Random(seed)
    count = rng.randint(2, 4)
    rows = f"int32[{count}, {WORDS}]"
    lines: list[str] = []
    kernels: list[str] = []
    loops: list[str] = []
    for p in range(count):
        body: list[str] = []
        steps = _steps(rng, p, count)
        for number, step in enumerate(steps):
            if step == "inner":
                lines += _inner(rng, f"inner{p}_{number}", p, rows, loops)
                body += [f"inner{p}_{number}(a, b)"]
                continue
            body += _loop(rng, f"i{number}", p, step)
            if rng.random() < 0.7:
                loops.append(f"p{p}_0:i{number}")
        kernels += ["", "    @df.kernel(mapping=[1], args=[A, B])"]
        kernels += [f"    def p{p}(a: {rows}, b: {rows}):"]
        kernels += [f"        acc: int32 = {p}", *(f"        {line}" for line in body)]
    lines += ["@df.region()", f"def top(A: {rows}, B: {rows}):"]
    lines += [f"    s{n}: Stream[int32, {rng.choice((1, 2, 5))}]" for n in range(count - 1)]
    return "\n".join([*lines, *kernels]) + "\n", loops


def _steps(rng: random.Random, p: int, count: int) -> list[str]:
    """What a process does one after the other: "get", "put", both in a loop, neither, or a region."""
    needed = [*(["get"] if p else []), *(["put"] if p < count - 1 else [])]
    if len(needed) == 2 and rng.random() < 0.5:
        needed = ["get put"]
    for _ in range(rng.randint(0, 2)):
        needed.insert(rng.randint(0, len(needed)), rng.choice(("", "", "inner")))
    return needed


def _loop(rng: random.Random, iv: str, p: int, step: str) -> list[str]:
    lines = [f"for {iv} in range({WORDS}):"]
    where = [f"a[{p}, {iv}]", f"b[{p}, {WORDS - 1} - {iv}]", f"a[{p}, {iv} // 2]"]
    uses = [f"acc += {place}" for place in where if rng.random() < 0.4]
    uses += [f"b[{p}, {iv}] = acc * 3"] if rng.random() < 0.5 else []
    uses = uses or [f"acc += a[{p}, {iv}]"]
    if rng.random() < 0.3:
        uses.insert(rng.randrange(len(uses)), f"if {iv} % 3 != 1:\n                {uses.pop()}")
    if "get" in step:
        uses.insert(rng.randint(0, len(uses)), f"acc += s{p - 1}.get()")
    if "put" in step:
        uses.insert(rng.randint(0, len(uses)), f"s{p}.put(acc)")
    return lines + [f"    {use}" for use in uses]


def _inner(rng: random.Random, name: str, p: int, rows: str, loops: list[str]) -> list[str]:
    """A region of two processes, one of which gives words to the other."""
    loops += [f"{name}_{k}_0:i" for k in ("left", "right") if rng.random() < 0.6]
    given = rng.choice((f"a[{p}, i]", "i * 5", f"a[{p}, i] * 3"))
    taken = rng.choice((f"a[{p}, {WORDS - 1} - i]", "1"))
    left = ("A", f"a: {rows}") if "a" in given else ("", "")
    right = ("A, B", f"a: {rows}, b: {rows}") if "a" in taken else ("B", f"b: {rows}")
    return [
        "@df.region()",
        f"def {name}(A: {rows}, B: {rows}):",
        f"    t: Stream[int32, {rng.choice((1, 3))}]",
        "",
        f"    @df.kernel(mapping=[1], args=[{left[0]}])",
        f"    def {name}_left({left[1]}):",
        f"        for i in range({WORDS}):",
        f"            t.put({given})",
        "",
        f"    @df.kernel(mapping=[1], args=[{right[0]}])",
        f"    def {name}_right({right[1]}):",
        f"        for i in range({WORDS}):",
        f"            b[{p}, i] = t.get() + {taken}",
        "",
        "",
    ]


def schedule_of(seed: int) -> Schedule:
    """The region of a seed, with its loops pipelined."""
    text, loops = source_of(seed)
    text = "import allo.dataflow as df\nfrom allo.ir.types import Stream, int32\n" + text
    file = f"<crowd {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, object] = {"__name__": "crowd"}
    exec(compile(text, file, "exec"), space)
    s = df.customize(space["top"])
    for loop in loops:
        s.pipeline(loop)
    return s


def arguments_of(seed: int) -> list[np.ndarray]:
    """Arrays for a call."""
    rows = source_of(seed)[0].count("    def p")
    return [np.arange(rows * WORDS, dtype=np.int32).reshape(rows, WORDS) for _ in range(2)]
