"""Thirty-two tokens of the transformer on both RTL engines, build included, from an empty cache.

scripts/python benchmarks/llm_engines.py
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

import numpy as np

import allo
from allo.backend.sim import find_engine
from allo.designs.llm.build import Design, memories_and_session, schedule
from allo.designs.llm.checkpoints.integer_model import QuantizedGPT
from allo.designs.llm.network.corpus import encode
from allo.designs.llm.network.train import DATA
from allo.designs.llm.network.weights import load_weights
from allo.ir.types import int32
from benchmarks.harness import Row, command_line, finish

PROMPT, TOKENS = "one day anna went to the", 32


def speak(simulator: str) -> tuple[list[int], list[int | None], float, float]:
    """Tokens, cycles of each step, seconds to build, seconds to run."""
    weights = load_weights(DATA / "char_gpt_w8a8.npz")
    design = Design()
    module = schedule(weights.config, design).build(target="verilog", simulator=simulator)
    began = time.perf_counter()
    module.build_model()
    built = time.perf_counter()
    _, session = memories_and_session(weights, design, module)
    tokens = [step.token for step in session.generate(encode(PROMPT), TOKENS)]
    return tokens, [s.cycles for s in session.steps], built - began, time.perf_counter() - built


def speak_again() -> float:
    """Seconds in Verilator, build and run, where its run-time library is compiled already."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["ALLO_CACHE_DIR"] = cache
        small = allo.customize(increment).build(target="verilog")
        small.build_model()
        _, _, build, run = speak("verilator")
    return build + run


def increment(a: int32[4]):
    for i in range(4):
        a[i] = a[i] + 1


def main() -> int:
    """Measure, print, write; 1 when a limit fails or the engines differ."""
    target = command_line(__doc__).parse_args().json
    for engine in ("jit", "verilator"):
        find_engine(engine)  # imports are not what is measured
    expected = QuantizedGPT(load_weights(DATA / "char_gpt_w8a8.npz")).generate(
        encode(PROMPT), TOKENS
    )
    with tempfile.TemporaryDirectory() as cache:
        os.environ["ALLO_CACHE_DIR"] = cache
        jit_tokens, jit_cycles, jit_build, jit_run = speak("jit")
        tokens, cycles, build, run = speak("verilator")
    again = speak_again()
    if not (np.array_equal(tokens, expected) and tokens == jit_tokens and cycles == jit_cycles):
        raise RuntimeError("the engines or the reference differ")
    total = sum(c or 0 for c in cycles)
    rows = [
        Row("Verilator: build", build, "s", "in process", jit_build),
        Row("Verilator: run", run, "s", "in process", jit_run),
        Row("cycles a second, in process", total / jit_run, "", "Verilator", total / run),
        Row("gain, build included", (build + run) / (jit_build + jit_run), "×", "limit", 5, False),
        Row(
            "Verilator, its library compiled before", again, "s", "in process", jit_build + jit_run
        ),
    ]
    return finish(
        "llm_engines", f"LLM: {TOKENS} tokens, {total:,} cycles, two engines", rows, target
    )


if __name__ == "__main__":
    sys.exit(main())
