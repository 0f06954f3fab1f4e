"""Decode cycles of the spatial transformer against its parallelism, and at the memory bound.

scripts/python benchmarks/llm_scaling.py

Runs real decode steps on the in-process RTL engine. Doubling the multipliers of the linear engine
should come near to halving the cycles until the weights' memory is the limit.
"""

from __future__ import annotations

import sys

import numpy as np

from allo.backend.sim import MemoryChannel
from allo.designs.llm.build import Design, memories_and_session, schedule
from allo.designs.llm.cycles import predict_step
from allo.designs.llm.network.train import DATA
from allo.designs.llm.network.weights import load_weights
from benchmarks.harness import Row, command_line, finish

POSITION = 24
BYTES_PER_CYCLE = 8.0
PREFETCH = 512


def decode(lanes: int, bytes_per_cycle: float | None) -> tuple[int, int, int, float]:
    """Cycles of one decode step, predicted ones, cycles of full multipliers, memory utilisation."""
    weights = load_weights(DATA / "char_gpt_w8a8.npz")
    design = Design(lanes=lanes, block=1, prefetch=PREFETCH)
    memory = (
        {"weights": MemoryChannel("hbm", bytes_per_cycle, latency=40)} if bytes_per_cycle else None
    )
    module = schedule(weights.config, design).build(
        target="verilog", simulator="jit", memory=memory
    )
    _, session = memories_and_session(weights, design, module)
    session.position = POSITION
    session.feed(np.zeros(1, np.int32))
    step = predict_step(module.report, weights.config, design, 1, POSITION)
    used = module.traffic.channels["hbm"].utilisation if memory else 0.0
    return module.cycles, step.cycles, step.linear_cycles, used


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    target = command_line(__doc__).parse_args().json
    rows: list[Row] = []
    before = 0
    for lanes in (1, 2, 4, 8):
        cycles, predicted, linear, _ = decode(lanes, None)
        note = (
            f"predicted {predicted:,} ({predicted / cycles - 1:+.1%}), busy {linear / cycles:.0%}"
        )
        key = f"llm.lanes_{lanes}"
        figures = {f"{key}.cycles": cycles, f"{key}.busy.share": round(linear / cycles, 4)}
        rows.append(
            Row(f"{lanes} multipliers", cycles, "cycles", "full use", linear, None, note, figures)
        )
        if before:
            rows.append(
                Row(f"gain from {lanes // 2} to {lanes}", before / cycles, "×", "limit", 1.7, False)
            )
        before = cycles
    for lanes in (8, 16, 32):
        cycles, _, _, used = decode(lanes, BYTES_PER_CYCLE)
        bound = round(sum_of_weights() / BYTES_PER_CYCLE)
        rows.append(
            Row(
                f"{lanes} multipliers, {BYTES_PER_CYCLE:.0f} bytes a cycle",
                cycles,
                "cycles",
                "memory bound",
                bound,
                None,
                f"bandwidth used {used:.1%}",
                {
                    f"llm.lanes_{lanes}.memory.cycles": cycles,
                    f"llm.lanes_{lanes}.memory.share": round(used, 4),
                },
            )  # fmt: skip
        )
        if lanes > 8:
            rows.append(Row("bandwidth used", used, "", "limit", 0.8, False))
    return finish("llm_scaling", f"LLM: one decode step at position {POSITION}", rows, target)


def sum_of_weights() -> int:
    """Bytes of weights one step reads."""
    weights = load_weights(DATA / "char_gpt_w8a8.npz")
    return sum(a.size for n, a in weights.arrays.items() if n.endswith(".w"))


if __name__ == "__main__":
    sys.exit(main())
