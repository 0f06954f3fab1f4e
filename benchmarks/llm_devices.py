"""Several devices: simulated cycles of decode steps beside equations (21) to (24), for two links.

scripts/python benchmarks/llm_devices.py [--quick]

Each row is a run of two tokens of every sequence on devices that are simulated together in the in-process
engine at 200 MHz, with the links between them; all logits and all tokens are those of the NumPy reference of
one device. The limit is 3 %. The last rows are GPT-2 355M on U280s by the equations alone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import numpy as np

from allo.designs.llm.analysis.data import Transformer, transformer
from allo.designs.llm.analysis.devices import LinkDepths, Shares, Wire, devices_time
from allo.designs.llm.analysis.engine import Engine
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.devices.build import schedule
from allo.designs.llm.devices.depths import depths_of
from allo.designs.llm.devices.link import (
    AURORA_100G,
    ETHERNET_10G,
    check_exact,
    pace_of,
)
from allo.designs.llm.devices.memories import deal, logits_of
from allo.designs.llm.devices.parameters import Devices
from allo.designs.llm.plan.reports import load_models, sizes_of
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish

LIMIT = 0.03
CLOCK_MHZ = 200
SHAPE = GPTConfig(layers=4, d=64, heads=4, ffn=128, context=16, vocab=30)
WIDE = Wide(channels=2, lanes=8, vector=4, heads=1, prefetch=64)
LINKS = (AURORA_100G, ETHERNET_10G)
RUNS = ((2, 1, 1), (4, 1, 1), (1, 2, 2), (1, 4, 4), (1, 1, 1), (1, 2, 1), (1, 4, 1), (2, 2, 2))
"""Devices that share a layer, stages, sequences."""
QUICK = 2
"""Runs with each link of ``--quick``."""
U280_MHZ, U280_BYTES = 248.0, 14.41e9
"""The clock that the report of the wide accelerator estimates, and bytes a second of a channel of HBM2."""


def decoded(devices: Devices) -> tuple[int, object]:
    """Cycles of a run of two tokens of each sequence, whose logits are compared, and the report."""
    speed = pace_of(devices.link, CLOCK_MHZ, 4 * WIDE.vector)
    module = schedule(SHAPE, WIDE, devices, speed).build(
        target="verilog", simulator="jit", clock_mhz=CLOCK_MHZ
    )
    check_exact(module.report)
    weights = random_weights(SHAPE, seed=7)
    memories = deal(weights, WIDE, devices)
    tokens = np.array([3, 29, 0, 17][: devices.sequences], np.int32)
    module(np.tile(tokens, (devices.tensor, 1)), 0, *memories.arguments())
    model = WideGPT(weights, WIDE)
    sequences, expected = [[int(token)] for token in tokens], []
    for _ in range(devices.rounds):
        for sequence in sequences:
            expected.append(model.forward(np.array([sequence]))[0, -1])
            sequence.append(int(np.argmax(expected[-1])))
    got = logits_of(memories, SHAPE.vocab, devices.steps)
    if not np.array_equal(got.view(np.uint32), np.array(expected).view(np.uint32)):
        raise RuntimeError(f"{devices}: the logits are not those of one device")
    return module.cycles or 0, module.report


def measured_rows(runs: tuple[tuple[int, int, int], ...]) -> Iterator[Row]:
    """Simulated cycles beside the equations, and the error in a row of its own."""
    model = Transformer(
        "measured", "Measured", SHAPE.layers, SHAPE.heads, SHAPE.d, SHAPE.ffn, SHAPE.context, SHAPE.vocab
    )  # fmt: skip
    names = ("channels", "lanes", "vector", "heads", "prefetch", "gelu_interval", "bits")
    engine = Engine(**{name: getattr(WIDE, name) for name in names})
    for link in LINKS:
        for tensor, pipeline, sequences in runs:
            if tensor * pipeline == 1 and link is not LINKS[0]:
                continue
            devices = Devices(tensor, pipeline, sequences, 2, link)
            cycles, report = decoded(devices)
            speed = pace_of(link, CLOCK_MHZ, 4 * WIDE.vector)
            foretold = devices_time(
                model,
                engine,
                *depths_of(report, SHAPE.d // WIDE.vector),
                Wire(speed.interval, speed.latency),
                0,
                Shares(tensor, pipeline, sequences, devices.rounds),
            )
            what = f"p1 = {tensor}, p2 = {pipeline}, {sequences} sequences, {link.name}"
            error = foretold.cycles / cycles - 1
            yield Row(
                what, cycles, "cycles", "equations", round(foretold.cycles), None, f"{error:+.2%}"
            )
            yield Row(f"{what}: error", abs(error), "", "limit", LIMIT, True)


def u280_rows() -> Iterator[Row]:
    """GPT-2 355M at position 127 on U280s, by the equations: tokens a second of all sequences."""
    model, engine = transformer("gpt2-355m"), Engine()
    depths = load_models().depths(sizes_of(model, engine, 256))
    # Pipelines for the links at V = 16 have not been built; these are a little deeper than those measured.
    links = LinkDepths(send=2, add=3, leave=10, enter=1, choose=25, vote=4)
    one = 0.0
    for link in LINKS:
        wire = Wire(
            max(1.0, 4 * engine.vector * U280_MHZ * 1e6 / link.bandwidth),
            link.latency * U280_MHZ * 1e6,
        )
        for tensor, pipeline, sequences in ((1, 1, 1), *RUNS[:4], (2, 2, 2)):
            if tensor * pipeline == 1 and one:
                continue
            time = devices_time(
                model,
                engine,
                depths,
                links,
                wire,
                127,
                Shares(tensor, pipeline, sequences),
                bytes_per_cycle=U280_BYTES / (U280_MHZ * 1e6),
            )
            turn = max(time.token, sequences * time.stage)
            speed = U280_MHZ * 1e6 * sequences / turn
            one = one or speed
            note = (
                f"{1e-3 * time.token / U280_MHZ:.2f} ms a token of a sequence, of which exchanges "
                f"{time.exchanges / time.token:.1%} and handovers {time.handovers / time.token:.1%}"
            )
            yield Row(
                f"GPT-2 355M, by equations: p1 = {tensor}, p2 = {pipeline}, {sequences} sequences, "
                f"{link.name}",
                speed,
                "tokens/s",
                "one device",
                one,
                None,
                note,
            )


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} runs with each link")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DTypeWarning)
    rows = [*measured_rows(RUNS[:QUICK] if given.quick else RUNS), *u280_rows()]
    title = "LLM: several devices, equations (21) to (24) against simulated cycles"
    return finish("llm_devices", title, rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
