"""Random process networks: results, or the exact deadlock, as a plain model in Python has them.

With one producer and one consumer a FIFO, what a network computes and where it gets stuck does
not depend on the order in which processes run; so any scheduler must agree with the model.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from allo.backend.cpu import LLVMModule
from allo.dialects.diagnostics import DeadlockError

from .kernels import attributes

SLOTS = 64

type Action = tuple[str, int]
"""("put" or "get", number of the stream)"""


@dataclass(slots=True)
class Network:
    depths: list[int]
    scripts: list[list[Action]] = field(default_factory=list)


def random_network(rng: random.Random) -> Network:
    """Mostly balanced networks, some of which lose an action and so must get stuck."""
    processes = rng.randint(2, 7)
    network = Network([], [[] for _ in range(processes)])
    for stream in range(rng.randint(1, 9)):
        producer, consumer = rng.randrange(processes), rng.randrange(processes)
        network.depths.append(rng.randint(1, 3))
        count = rng.randint(1, 6)
        for kind, process in (("put", producer), ("get", consumer)):
            script = network.scripts[process]
            for _ in range(count):
                script.insert(rng.randint(0, len(script)), (kind, stream))
    if rng.random() < 0.3:
        script = rng.choice([s for s in network.scripts if s])
        script.pop(rng.randrange(len(script)))
    return network


def model(network: Network) -> tuple[np.ndarray, dict[str, tuple[str, str, int]]]:
    """(what each process got, in order; for each stuck process: action, stream and fill)."""
    fifos: list[list[int]] = [[] for _ in network.depths]
    positions = [0] * len(network.scripts)
    results = np.zeros((len(network.scripts), SLOTS), np.int32)
    moved = True
    while moved:
        moved = False
        for process, script in enumerate(network.scripts):
            while positions[process] < len(script):
                kind, stream = script[positions[process]]
                fifo = fifos[stream]
                if kind == "put" and len(fifo) < network.depths[stream]:
                    fifo.append(1000 * process + positions[process])
                elif kind == "get" and fifo:
                    results[process, positions[process]] = fifo.pop(0)
                else:
                    break
                positions[process] += 1
                moved = True
    stuck = {}
    for process, script in enumerate(network.scripts):
        if positions[process] < len(script):
            kind, stream = script[positions[process]]
            stuck[f"p_{process}"] = (kind, f"s_{stream}", len(fifos[stream]))
    return results, stuck


def text_of(network: Network) -> str:
    kinds = f"memref<{len(network.scripts)}x{SLOTS}xi32>"
    streams = range(len(network.depths))
    handles = [f"stream<i32, {d}>" for d in network.depths]
    given = attributes(["b", *(f"s{i}" for i in streams)], ["i32", *handles], [])
    parts, body = [], []
    for number, script in enumerate(network.scripts):
        lines = []
        for step, (kind, stream) in enumerate(script):
            if kind == "put":
                lines.append(f"%v{step} = arith.constant {1000 * number + step} : i32")
                lines.append(f'"allo.put"(%s{stream}, %v{step}) : (index, i32) -> ()')
            else:
                lines.append(f'%v{step} = "allo.get"(%s{stream}) : (index) -> i32')
                lines.append(f"affine.store %v{step}, %b[{number}, {step}] : {kinds}")
        arguments = ", ".join([f"%b: {kinds}", *(f"%s{i}: index" for i in streams)])
        joined = "\n".join([*lines, "return"])
        parts.append(f"func.func @p_{number}({arguments}) attributes {{{given}}} {{\n{joined}\n}}")
        operands = ", ".join(["%b", *(f"%s{i}" for i in streams)])
        types = ", ".join([kinds, *("index" for _ in streams)])
        body.append(f"call @p_{number}({operands}) : ({types}) -> ()")
    for i, depth in enumerate(network.depths):
        settings = f'name = "s_{i}", dtype = "i32", depth = {depth} : i32'
        body.insert(0, f'%s{i} = "allo.stream"() {{{settings}}} : () -> index')
    top = attributes(["b"], ["i32"], [])
    lines = "\n".join([*body, "return"])
    parts.append(
        f"func.func @top(%b: {kinds}) attributes {{dataflow, region, {top}}} {{\n{lines}\n}}"
    )
    return "\n".join(parts)


NOTE = re.compile(
    r"(p_\d+) waits to (put) into FIFO (s_\d+) \((\d+) of|(p_\d+) waits to (get) from FIFO (s_\d+) \((\d+) of"
)


def stuck_in(error: DeadlockError) -> dict[str, tuple[str, str, int]]:
    found = {}
    for note in error.notes:
        match = NOTE.match(note if isinstance(note, str) else note[0])
        assert match, note
        process, kind, stream, fill = (part for part in match.groups() if part is not None)
        found[process] = (kind, stream, int(fill))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_the_simulator_agrees_with_the_model(seed: int):
    network = random_network(random.Random(seed))
    want, stuck = model(network)
    module = LLVMModule(text_of(network), "top", opt_level=1)
    for _ in range(2):
        got = np.zeros_like(want)
        if not stuck:
            module(got)
            np.testing.assert_array_equal(got, want)
            continue
        with pytest.raises(DeadlockError) as caught:
            module(got)
        assert stuck_in(caught.value) == stuck


def test_both_outcomes_are_common():
    outcomes = [bool(model(random_network(random.Random(seed)))[1]) for seed in range(60)]
    assert 15 <= sum(outcomes) <= 45
