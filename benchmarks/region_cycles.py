"""Cycles of regions foretold from their schedules, against those that simulation counts.

scripts/python benchmarks/region_cycles.py [--seeds N] [--family NAME …] [--suite FOLDER … [--jobs N]]

The regions of the gallery and of the library's systolic arrays, random networks and crowded regions of the
tests, random programs of the fuzzer (networks, cells, memories handed over, ports), and language models on
several devices with links between them. Each is built once, foretold with the
inputs of a call, and simulated with the same inputs by the in-process engine; every tenth by Verilator,
too. A region counts as equal where the cycles are the same, or where both deadlock. One that the model
refuses is counted with its reason, and a wrong one makes the benchmark fail.

``--suite`` runs tests instead, and foretells every region that they run in hardware, in their own process and
without delays of memories or streams outside, before it is counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import allo.dataflow as df
from allo.designs.gallery.catalogue import ENTRIES
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.devices import build as llm_devices
from allo.designs.llm.devices.link import AURORA_100G, ETHERNET_10G, pace_of
from allo.designs.llm.devices.memories import deal
from allo.designs.llm.devices.parameters import Devices
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.errors import AlloError, DeadlockError, PredictionError
from allo.ir.types import int8, int32
from allo.library.systolic_array import schedule_systolic_array, systolic_array
from benchmarks.harness import ROOT, Row, command_line, finish
from tests.dataflow.networks import random_network, schedule_of
from tests.fuzz.generator.make import make_program
from tests.fuzz.generator.values import inputs
from tests.fuzz.runner.evaluate import customized
from tests.fuzz.runner.space import namespace
from tests.regions import crowds
from tests.regions.held import OUT

Case = tuple[Callable[[], Any], Callable[[], list[Any]]]
"""What builds a module, and what it is called with."""
SEEDS, EACH = 40, 10
FUZZED = ("networks", "cells", "handed", "ports", "forever", "tries")
LIMIT = 200_000
MODEL = GPTConfig(layers=2, d=32, heads=4, ffn=64, context=8, vocab=21)
WIDE = Wide(channels=2, lanes=8, vector=4, heads=1, prefetch=32, parts=4)
"""The model of the devices, and the accelerator on each."""


@dataclass(slots=True)
class Tally:
    """What came of a family."""

    equal: int = 0
    wrong: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def compare(
    build: Callable[[], Any], given: list[Any], tally: Tally, name: str, both: bool
) -> None:
    """Foretell a region and simulate it."""
    module = build()
    if module.design.compiled is None or not module.design.compiled.waits:
        return
    try:
        told: int | None = module.predict(*given).cycles
    except DeadlockError:
        told = None
    except PredictionError as why:
        tally.refused[_reason(str(why))] += 1
        return
    for engine in ("jit", "verilator") if both else ("jit",):
        try:
            module(*deepcopy(given), simulator=engine)
            counted = module.cycles
        except DeadlockError:
            counted = None
        if counted != told:
            tally.wrong.append(f"{name} ({engine}): foretold {told}, counted {counted}")
            return
    tally.equal += 1


def _reason(message: str) -> str:
    """The kind of a refusal, without what it names."""
    for kind in (
        "waits for ports",
        "without waiting",
        "no process of it ends",
        "other streams",
        "ahead",
    ):
        if kind in message:
            return kind
    return message.split("because ")[-1].split(".")[0][:60]


def _gallery(seeds: int) -> Iterator[tuple[str, Case]]:
    del seeds
    for entry in ENTRIES:
        module = entry.load()

        def given(module: Any = module) -> list[Any]:
            return list(module.inputs(np.random.default_rng(1)))

        def build(module: Any = module) -> Any:
            return module.schedule().build(target="verilog", simulator="jit")

        yield entry.name, (build, given)


def _library(seeds: int) -> Iterator[tuple[str, Case]]:
    del seeds
    for rows, depth, columns in ((2, 3, 2), (4, 4, 4), (4, 16, 3), (8, 8, 8)):

        def build(shape: tuple[int, ...] = (rows, depth, columns)) -> Any:
            made = df.customize(systolic_array, instantiate=[int8, int8, int32, *shape])
            return schedule_systolic_array(made).build(target="verilog", simulator="jit")

        def given(r: int = rows, k: int = depth, c: int = columns) -> list[Any]:
            return [np.ones((r, k), np.int8), np.ones((k, c), np.int8), np.zeros((r, c), np.int32)]

        yield f"systolic {rows}x{depth}x{columns}", (build, given)


def _networks(seeds: int) -> Iterator[tuple[str, Case]]:
    for seed in range(5000, 5000 + seeds):
        network = random_network(seed)

        def build(network: Any = network) -> Any:
            made = schedule_of(network)
            return made.build(target="verilog", simulator="jit", max_cycles=LIMIT)

        def given(count: int = len(network.processes), shared: bool = network.shared) -> list[Any]:
            return [np.zeros(count, np.int32)] if shared else [np.zeros(1, np.int32)] * count

        yield f"network {seed}", (build, lambda make=given: [a.copy() for a in make()])


def _crowds(seeds: int) -> Iterator[tuple[str, Case]]:
    for seed in range(5000, 5000 + seeds):

        def build(seed: int = seed) -> Any:
            made = crowds.schedule_of(seed)
            return made.build(target="verilog", simulator="jit", max_cycles=LIMIT)

        yield f"crowd {seed}", (build, lambda seed=seed: crowds.arguments_of(seed))


def _devices(seeds: int) -> Iterator[tuple[str, Case]]:
    del seeds
    clock_mhz, weights = 200, random_weights(MODEL, seed=7)
    for link in (AURORA_100G, ETHERNET_10G):
        for shape in ((2, 1, 1), (1, 2, 2), (2, 2, 2)):

            def build(devices: Devices = Devices(*shape, 2, link)) -> Any:
                pace = pace_of(devices.link, clock_mhz, 4 * WIDE.vector)
                made = llm_devices.schedule(MODEL, WIDE, devices, pace)
                return made.build(target="verilog", simulator="jit", clock_mhz=clock_mhz)

            def given(devices: Devices = Devices(*shape, 2, link)) -> list[Any]:
                tokens = np.array([3, 20][: devices.sequences], np.int32)
                arrays = deal(weights, WIDE, devices).arguments()
                return [np.tile(tokens, (devices.tensor, 1)), 0, *arrays]

            yield f"devices {shape}, {link.name}", (build, given)


def _fuzzed(kind: str) -> Callable[[int], Iterator[tuple[str, Case]]]:
    def programs(seeds: int) -> Iterator[tuple[str, Case]]:
        for seed in range(7000, 7000 + seeds):
            program = make_program(seed, kind)
            with namespace(program) as space:

                def build(program: Any = program, space: dict[str, Any] = space) -> Any:
                    made = customized(program, space)
                    return made.build(target="verilog", simulator="jit", max_cycles=LIMIT)

                yield f"{kind} {seed}", (build, lambda program=program: inputs(program, 0))

    return programs


FAMILIES: dict[str, Callable[[int], Iterator[tuple[str, Case]]]] = {
    "gallery": _gallery,
    "library": _library,
    "random networks": _networks,
    "random crowds": _crowds,
    "devices": _devices,
    **{f"fuzzed {kind}": _fuzzed(kind) for kind in FUZZED},
}


def measure(family: str, seeds: int) -> Row:
    """Compare the regions of a family."""
    tally = Tally()
    for number, (name, (build, given)) in enumerate(FAMILIES[family](seeds)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                compare(build, given(), tally, name, number % EACH == 0)
            except AlloError as error:
                tally.refused[f"not run: {type(error).__name__}"] += 1
    return _row(family, tally)


def of_tests(folder: str, jobs: int = 1) -> Row:
    """Compare the regions that the tests of a folder run, in so many processes.

    Raises:
        RuntimeError: a test failed.
    """
    with tempfile.TemporaryDirectory() as made:
        out = Path(made, "calls.jsonl")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.regions.held", folder]
        command += ["-n", str(jobs)] if jobs > 1 else []
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, OUT: str(out)}, check=False)
        if done.returncode:
            raise RuntimeError(f"pytest {folder} ended with {done.returncode}.")
        text = out.read_text() if out.exists() else ""
    return of_calls(folder, text)


def of_calls(folder: str, text: str) -> Row:
    """The calls that the tests of a folder made, a line each."""
    tally = Tally()
    for call in map(json.loads, text.splitlines()):
        if "refused" in call:
            tally.refused[_reason(call["refused"])] += 1
        elif call["told"] == call["counted"]:
            tally.equal += 1
        else:
            tally.wrong.append(
                f"{call['test']} ({call['top']}): foretold {call['told']}, counted {call['counted']}"
            )
    return _row(folder, tally)


def _row(family: str, tally: Tally) -> Row:
    compared = tally.equal + len(tally.wrong)
    refused = "; ".join(f"{count} refused: {why}" for why, count in tally.refused.most_common())
    note = "; ".join([*tally.wrong, refused] if refused else tally.wrong)
    key = f"regions.{family.removeprefix('tests/').replace(' ', '_').replace('/', '_')}"
    figures = {f"{key}.regions": tally.equal, f"{key}.refusals": tally.refused.total()}
    name = f"{family}: cycles foretold exactly"
    return Row(name, tally.equal, "regions", "compared", compared, False, note, figures)


def main() -> int:
    """Compare, print, write."""
    parser = command_line(__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--family", choices=list(FAMILIES), action="append")
    parser.add_argument("--suite", nargs="+", default=[], metavar="FOLDER", help="of tests")
    parser.add_argument("--jobs", type=int, default=1, help="processes that run tests")
    chosen = parser.parse_args()
    rows = [of_tests(folder, chosen.jobs) for folder in chosen.suite]
    if not chosen.suite or chosen.family:
        rows += [measure(family, chosen.seeds) for family in chosen.family or FAMILIES]
    return finish("region_cycles", "Cycles of regions, foretold and counted", rows, chosen.json)


if __name__ == "__main__":
    sys.exit(main())
