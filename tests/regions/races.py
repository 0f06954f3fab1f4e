"""Random regions in which several processes load and store the same words, and these decide, as programs."""

from __future__ import annotations

import linecache
import random

import numpy as np

import allo.dataflow as df
from allo.customize import Schedule

WORDS = 5


def source_of(seed: int) -> tuple[str, list[str]]:
    """Processes on one array, some of which pass words on; loops that are to be pipelined."""
    rng = random.Random(seed)
    count = rng.randint(2, 3)
    kernels: list[str] = []
    loops: list[str] = []
    chained = rng.random() < 0.5
    for p in range(count):
        body = [f"acc: int32 = {p}"]
        for number in range(rng.randint(1, 3)):
            body += _loop(rng, f"i{number}")
            if rng.random() < 0.5:
                loops.append(f"p{p}_0:i{number}")
        if chained and p:
            body.insert(rng.choice((1, len(body))), f"acc += s{p - 1}.get()")
        if chained and p < count - 1:
            body.insert(rng.choice((1, len(body))), f"s{p}.put(acc)")
        kernels += ["", "    @df.kernel(mapping=[1], args=[A, B])"]
        kernels += [f"    def p{p}(a: int32[{WORDS}], b: int32[{count}]):"]
        kernels += [f"        {line}" for line in [*body, f"b[{p}] = acc"]]
    lines = ["@df.region()", f"def top(A: int32[{WORDS}], B: int32[{count}]):"]
    lines += [f"    s{n}: Stream[int32, 2]" for n in range(count - 1) if chained]
    return "\n".join([*lines, *kernels]) + "\n", loops


def _loop(rng: random.Random, iv: str) -> list[str]:
    """A loop whose iterations load, store, and do as the words say."""
    place = rng.choice((iv, f"{WORDS - 1} - {iv}", str(rng.randrange(WORDS))))
    other = rng.choice((iv, str(rng.randrange(WORDS))))
    lines = [f"for {iv} in range({WORDS}):"]
    match rng.randrange(4):
        case 0:
            lines += [f"    a[{place}] = a[{other}] + acc"]
        case 1:
            lines += [f"    if a[{place}] % 3 != 0:", f"        a[{other}] = acc + {iv}"]
        case 2:
            lines += [f"    for j in range(a[{place}] % 4):", "        acc += j"]
        case _:
            lines += [f"    acc += a[{place}]", f"    while a[{other}] % 5 == 4:"]
            lines += [f"        a[{other}] = a[{other}] + 1"]
    return lines


def schedule_of(seed: int) -> Schedule:
    """The region of a seed, with loops pipelined."""
    text, loops = source_of(seed)
    text = "import allo.dataflow as df\nfrom allo.ir.types import Stream, int32\n" + text
    file = f"<race {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, object] = {"__name__": "race"}
    exec(compile(text, file, "exec"), space)
    s = df.customize(space["top"])
    for loop in loops:
        if not any(line.strip().startswith(("for j", "while")) for line in _body_of(text, loop)):
            s.pipeline(loop)
    return s


def _body_of(text: str, loop: str) -> list[str]:
    """The lines of a loop."""
    function, iv = loop.split(":")
    lines = text.split(f"def {function.removesuffix('_0')}(")[1].split("@df.kernel")[0].splitlines()
    start = next(n for n, line in enumerate(lines) if line.strip().startswith(f"for {iv} in"))
    depth = len(lines[start]) - len(lines[start].lstrip())
    rest = lines[start + 1 :]
    count = next(
        (
            n
            for n, line in enumerate(rest)
            if line.strip() and len(line) - len(line.lstrip()) <= depth
        ),
        len(rest),
    )
    return rest[:count]


def arguments_of(seed: int) -> list[np.ndarray]:
    """Arrays for a call."""
    count = source_of(seed)[0].count("    def p")
    return [np.arange(WORDS, dtype=np.int32) + seed, np.zeros(count, np.int32)]
