"""Random networks of processes as programs: loops of puts and gets at any rates, depths and orders."""

from __future__ import annotations

import linecache
import random
from dataclasses import dataclass, field

import numpy as np

import allo.dataflow as df
from allo.customize import Schedule
from allo.errors import DeadlockError

type Op = tuple[str, int, bool]
"""("put" or "get", number of the stream, only in even iterations)"""

COUNTS = (4, 6, 8, 12)


@dataclass(slots=True)
class Loop:
    trips: int
    ops: list[Op] = field(default_factory=list)
    pipelined: bool = False
    slow: bool = False
    """Whether it multiplies before it puts, which takes the hardware some cycles."""


@dataclass(slots=True)
class Process:
    first: list[int] = field(default_factory=list)
    """Streams into which a word is put before the loops."""
    loops: list[Loop] = field(default_factory=list)


@dataclass(slots=True)
class Network:
    """A network, and whether its processes leave their results in one array."""

    seed: int
    depths: list[int]
    processes: list[Process]
    shared: bool

    @property
    def pipelined(self) -> bool:
        return any(loop.pipelined for process in self.processes for loop in process.loops)


def random_network(seed: int) -> Network:
    """A chain, fork and join, or feedback of 2 to 6 processes; about one in two ends."""
    rng = random.Random(seed)
    count = rng.randint(2, 6)
    network = Network(seed, [], [Process() for _ in range(count)], rng.random() < 0.3)
    pipelined = rng.random() < 0.5
    ends = [(p, p + 1) for p in range(count - 1)]
    ends += [tuple(rng.sample(range(count), 2)) for _ in range(rng.randint(0, 4))]
    loose = rng.random() < 0.25
    for stream, (producer, consumer) in enumerate(ends):
        network.depths.append(rng.choice((1, 1, 2, 3, 12)))
        words = rng.choice(COUNTS)
        if producer > consumer:
            network.processes[producer].first += [stream] * rng.randint(0, network.depths[-1])
        for kind, number in (("put", producer), ("get", consumer)):
            _spread(rng, network.processes[number], kind, stream, words)
    for process in network.processes:
        rng.shuffle(process.loops)
        for loop in process.loops:
            loop.pipelined = pipelined and rng.random() < 0.7
            loop.slow = rng.random() < 0.5
            if loose and rng.random() < 0.3:
                kind, stream, _ = loop.ops[0]
                loop.ops[0] = (kind, stream, True)
    return network


def _spread(rng: random.Random, process: Process, kind: str, stream: int, words: int) -> None:
    """Put a stream's operations of one process into a loop, new or old."""
    each = rng.choice([c for c in (1, 1, 1, 2, 3) if words % c == 0])
    fitting = [loop for loop in process.loops if loop.trips == words // each]
    if not fitting or rng.random() < 0.15:
        process.loops.append(Loop(words // each))
        fitting = process.loops[-1:]
    ops = rng.choice(fitting).ops
    for _ in range(each):
        # Gets tend to come first, or few networks would end.
        low = len(ops) if rng.random() < 0.6 and kind == "put" else 0
        high = 0 if rng.random() < 0.6 and kind == "get" else len(ops)
        ops.insert(rng.randint(min(low, high), max(low, high)), (kind, stream, False))


def source_of(network: Network) -> str:
    """The network as a region called ``top``."""
    count = len(network.processes)
    kind = f"int32[{count}]" if network.shared else "int32[1]"
    names = ["R"] if network.shared else [f"R{p}" for p in range(count)]
    lines = ["@df.region()", f"def top({', '.join(f'{n}: {kind}' for n in names)}):"]
    lines += [f"    s{i}: Stream[int32, {depth}]" for i, depth in enumerate(network.depths)]
    for number, process in enumerate(network.processes):
        name = names[0] if network.shared else names[number]
        lines += [
            "",
            f"    @df.kernel(mapping=[1], args=[{name}])",
            f"    def p{number}(r: {kind}):",
        ]
        lines += [f"        acc: int32 = {number + 1}"]
        for word, stream in enumerate(process.first):
            lines += [f"        first{word}: int32 = {100 * number + word}"]
            lines += [f"        s{stream}.put(first{word})"]
        for position, loop in enumerate(process.loops):
            lines += _loop_lines(f"i{position}", loop)
        lines += [f"        r[{number if network.shared else 0}] = acc"]
    return "\n".join(lines) + "\n"


def _loop_lines(iv: str, loop: Loop) -> list[str]:
    lines = [f"        for {iv} in range({loop.trips}):"]
    for step, (kind, stream, even) in enumerate(loop.ops):
        indent = "            "
        if even:
            lines += [f"{indent}if {iv} % 2 == 0:"]
            indent += "    "
        word = f"w{iv}_{step}"
        if kind == "get":
            lines += [f"{indent}{word}: int32 = s{stream}.get()"]
            lines += [
                f"{indent}acc = acc * 5 + {word}" if loop.slow else f"{indent}acc = acc ^ {word}"
            ]
        else:
            value = f"acc * 3 + {iv}" if loop.slow else f"acc + {step}"
            lines += [f"{indent}{word}: int32 = {value}", f"{indent}s{stream}.put({word})"]
    return lines


def schedule_of(network: Network) -> Schedule:
    """The network customized, its pipelines asked for."""
    text = "import allo.dataflow as df\nfrom allo.ir.types import Stream, int32\n" + source_of(
        network
    )
    file = f"<network {network.seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, object] = {"__name__": "network"}
    exec(compile(text, file, "exec"), space)
    s = df.customize(space["top"])
    for number, process in enumerate(network.processes):
        for position, loop in enumerate(process.loops):
            if loop.pipelined:
                s.pipeline(f"p{number}_0:i{position}")
    return s


def outcome(module: object, network: Network) -> list[int] | str:
    """What two calls give, or the message of the deadlock that both end in."""
    found: list[list[int] | str] = []
    for _ in range(2):
        count = len(network.processes)
        arrays = [np.zeros(count if network.shared else 1, np.int32) for _ in range(count)]
        arrays = arrays[:1] if network.shared else arrays
        try:
            module(*arrays)
            found.append(np.concatenate(arrays).tolist())
        except DeadlockError as error:
            found.append(str(error))
    return found[0] if found[0] == found[1] else f"calls differ: {found}"
