"""A small language model in our own Verilog: characters in, characters out, every accumulator compared.

    scripts/demo llm_small [--prompt TEXT] [--tokens N] [--lanes P] [--out FOLDER]

The W8A8 transformer of designs/llm runs as a NumPy reference, on the CPU's dataflow simulator,
on the in-process RTL engine and in Verilator. All must say the same; every int32 accumulator
of the first step and of the last one is compared. The status is 1 when anything differs.
Simulation models are built anew, so that the engines' times can be compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cache import empty_cache
from rich.console import Console
from rich.table import Table

from allo.designs.llm.build import Design, memories_and_session, schedule
from allo.designs.llm.check import check_accumulators
from allo.designs.llm.checkpoints.integer_model import QuantizedGPT
from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.cycles import predict_step
from allo.designs.llm.host import Session
from allo.designs.llm.network.corpus import decode, encode
from allo.designs.llm.network.quantize import quantized_perplexity
from allo.designs.llm.network.train import DATA, held_out_tokens, perplexity
from allo.designs.llm.network.weights import load_weights
from allo.errors import AlloError

HELD_OUT_SAMPLE = 6_000


@dataclass(slots=True)
class Outcome:
    """One engine's run: its tokens, cycles of each step, times, and what was compared."""

    name: str
    tokens: list[int] = field(default_factory=list)
    cycles: list[int | None] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    build_seconds: float = 0.0
    run_seconds: float = 0.0
    accumulators: int = 0
    differing: tuple[str, ...] = ()
    equal: bool = False


def speak(
    console: Console,
    outcome: Outcome,
    session: Session,
    weights: QuantizedModel,
    prompt: np.ndarray,
    count: int,
) -> None:
    """Generate, printing each token as it comes, and compare accumulators at both ends."""
    console.print(f"[bold]{outcome.name}[/]: {decode(prompt)}", end="")
    said = [int(t) for t in prompt]
    for number, step in enumerate(session.generate(prompt, count)):
        console.print(decode(np.array([step.token])), end="", style="green", highlight=False)
        if number in (0, count - 1):
            check = check_accumulators(session, weights, np.array(said))
            outcome.accumulators += check.compared
            outcome.differing += check.differing
        said.append(step.token)
        outcome.tokens.append(step.token)
    console.print()
    outcome.cycles = [step.cycles for step in session.steps]
    outcome.counts = [step.count for step in session.steps]
    outcome.starts = [step.start for step in session.steps]


def run_engine(
    console: Console,
    name: str,
    built: Any,
    weights: QuantizedModel,
    design: Design,
    prompt: np.ndarray,
    expected: np.ndarray,
) -> Outcome:
    """Build an engine's model, let it speak, and compare."""
    outcome = Outcome(name)
    began = time.perf_counter()
    if hasattr(built, "build_model"):
        with console.status(f"{name}: building the simulation model"):
            built.build_model()
    outcome.build_seconds = time.perf_counter() - began
    _, session = memories_and_session(weights, design, built)
    began = time.perf_counter()
    speak(console, outcome, session, weights, prompt, len(expected))
    outcome.run_seconds = time.perf_counter() - began
    outcome.equal = outcome.tokens == expected.tolist() and not outcome.differing
    return outcome


def show(
    console: Console, outcomes: list[Outcome], config: GPTConfig, design: Design, report: Any
) -> dict[str, Any]:
    """Print the table of engines and of cycles; return the same as data."""
    table = Table("engine", "build s", "run s", "tokens equal", "accumulators equal")
    table.title = f"{design.lanes} multipliers in the linear engine"
    for o in outcomes:
        bits = f"{o.accumulators:,}" if not o.differing else "no: " + ", ".join(o.differing)
        table.add_row(
            o.name,
            f"{o.build_seconds:.1f}",
            f"{o.run_seconds:.2f}",
            "yes" if o.equal else "NO",
            bits,
        )
    console.print(table)
    timed = [o for o in outcomes if o.cycles[0] is not None]
    cycles = Table("step", "tokens", "position", "cycles", "predicted", "error", "linear busy")
    rows = []
    for at in _interesting(timed[0]) if timed else []:
        o = timed[0]
        step = predict_step(report, config, design, o.counts[at], o.starts[at])
        measured = o.cycles[at] or 0
        rows.append(
            {
                "count": o.counts[at],
                "start": o.starts[at],
                "cycles": measured,
                "predicted": step.cycles,
                "error": step.cycles / measured - 1,
                "busy": step.linear_cycles / measured,
            }
        )
        kind = "prefill" if o.counts[at] > 1 else "decode"
        r = rows[-1]
        cycles.add_row(
            kind, str(r["count"]), str(r["start"]), f"{measured:,}", f"{r['predicted']:,}",
            f"{r['error']:+.1%}", f"{r['busy']:.0%}",
        )  # fmt: skip
    console.print(cycles)
    return {
        "engines": [
            {
                "name": o.name,
                "equal": o.equal,
                "text": decode(np.array(o.tokens)),
                "cycles": o.cycles,
                "build_seconds": o.build_seconds,
                "run_seconds": o.run_seconds,
                "accumulators_compared": o.accumulators,
            }
            for o in outcomes
        ],
        "steps": rows,
    }


def _interesting(outcome: Outcome) -> list[int]:
    prefill = [i for i, count in enumerate(outcome.counts) if count > 1]
    decodes = [i for i, count in enumerate(outcome.counts) if count == 1]
    middle = decodes[len(decodes) // 2 : len(decodes) // 2 + 1]
    return list(dict.fromkeys([*prefill, *decodes[:1], *middle, *decodes[-1:]]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompt", default="one day anna went to the")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("out/llm_small"))
    args = parser.parse_args()
    console = Console()
    weights = load_weights(DATA / "char_gpt_w8a8.npz")
    with np.load(DATA / "char_gpt_f32.npz") as stored:
        params = {name: stored[name] for name in stored.files}
    held_out = held_out_tokens()[:HELD_OUT_SAMPLE]
    with console.status("perplexity on held-out text"):
        float32 = perplexity(params, weights.config, held_out)
        w8a8 = quantized_perplexity(weights, held_out)
    console.print(
        f"perplexity on {len(held_out):,} held-out characters: "
        f"float32 {float32:.4f}, W8A8 {w8a8:.4f} ({w8a8 / float32 - 1:+.2%})"
    )
    prompt = encode(args.prompt)
    expected = QuantizedGPT(weights).generate(prompt, args.tokens)
    design = Design(lanes=args.lanes, observe=True)
    with console.status("compiling"):
        scheduled = schedule(weights.config, design)
        rtl = scheduled.build(target="verilog")
    console.print(f"[bold]reference[/]: {decode(prompt)}[green]{decode(expected)}[/]")
    engines = {
        "simulator": lambda: scheduled.build(target="simulator"),
        "rtl, in process": lambda: scheduled.build(target="verilog", simulator="jit"),
        "rtl, Verilator": lambda: rtl,
    }
    with empty_cache():
        outcomes = [
            run_engine(console, name, make(), weights, design, prompt, expected)
            for name, make in engines.items()
        ]
    data = show(console, outcomes, weights.config, design, rtl.report)
    same_cycles = outcomes[1].cycles == outcomes[2].cycles
    in_process, verilator = (o.build_seconds + o.run_seconds for o in outcomes[1:])
    speedup = verilator / in_process
    console.print(
        f"both RTL engines count the same cycles: {'yes' if same_cycles else 'NO'}; "
        f"in process {speedup:.1f} times as fast, build from an empty cache included"
    )
    rtl.write_project(str(args.out))
    report = {"perplexity_f32": float32, "perplexity_w8a8": w8a8, "speedup": speedup, **data}
    (args.out / "llm.json").write_text(json.dumps(report, indent=1))
    console.print(f"Verilog, report and figures are in {args.out.resolve()}")
    good = all(o.equal for o in outcomes) and same_cycles and w8a8 < 1.02 * float32
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AlloError as error:
        sys.exit(str(error))
