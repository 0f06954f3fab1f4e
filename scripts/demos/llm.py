"""A language model of 11.3 million parameters that speaks English in our own Verilog.

    scripts/demo llm [--prompt TEXT] [--tokens N] [--greedy] [--seed S] [--bits 4] [--verilator]

The GPT of designs/llm/data/speaker, or another GPT-2 in Hugging Face's layout (--model FOLDER), runs on the
wide accelerator: as a NumPy reference, as the CPU build, and as RTL in the in-process engine; in Verilator
too with --verilator. Every logit of every step is compared with the reference, bit for bit. The status is
1 when one differs. Simulation models are built anew.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cache import empty_cache
from rich.console import Console
from rich.table import Table

from allo.designs.llm.checkpoints.load import Checkpoint, load_checkpoint
from allo.designs.llm.checkpoints.quantize import QuantizedModel, calibrate, quantize
from allo.designs.llm.config import Architecture
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speaker import FOLDER, float_perplexity, integer_perplexity
from allo.designs.llm.language.speech import (
    Engine,
    accelerator_engine,
    reference_engine,
    speak,
)
from allo.designs.llm.language.tokenizer import Tokenizer
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.parameters import Wide, channel_size
from allo.errors import AlloError, DTypeWarning

HELD_OUT_SAMPLE = 768
CALIBRATION_TOKENS = 1024


@dataclass(slots=True)
class Said:
    """What one engine said: the tokens, all logits, the cycles of each step, and its times."""

    name: str
    tokens: list[int] = field(default_factory=list)
    logits: list[np.ndarray] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)
    build_seconds: float = 0.0
    run_seconds: float = 0.0

    def equals(self, other: Said) -> bool:
        """Whether tokens and logits are the same, bit for bit."""
        pairs = zip(self.logits, other.logits, strict=True)
        same = all(np.array_equal(a.view(np.uint32), b.view(np.uint32)) for a, b in pairs)
        return same and self.tokens == other.tokens


@dataclass(frozen=True, slots=True)
class Talk:
    """What is to be said, and how: the same for every engine."""

    console: Console
    tokenizer: Tokenizer
    architecture: Architecture
    prompt: str
    count: int
    sampling: tuple[int, float, int]

    def run(self, said: Said, engine: Engine, module: Any = None) -> Said:
        """Let an engine speak, printing the text as it comes."""
        prompt = self.tokenizer.encode(self.prompt)
        sampler = Sampler(*self.sampling)
        began = time.perf_counter()
        steps = speak(engine, prompt, self.count, sampler, self.architecture.context)
        self.console.print(f"[bold]{said.name}[/]: ", end="")
        self.console.print(self.prompt, end="", markup=False, highlight=False)
        for step in steps:
            said.logits.append(step.logits)
            if module is not None and getattr(module, "cycles", None) is not None:
                said.cycles.append(module.cycles)
            if step.chosen is None:
                continue
            said.tokens.append(step.chosen)
            new = self.tokenizer.decode([step.chosen])
            self.console.print(new, end="", style="green", markup=False, highlight=False)
        self.console.print("\n")
        said.run_seconds = time.perf_counter() - began
        return said


def quantized(loaded: Checkpoint, bits: int) -> QuantizedModel:
    """The model in integers; calibrated on the prose where the checkpoint has no scales."""
    scales = loaded.scales
    if scales is None and loaded.tokenizer is not None:
        text = split_prose(load_prose())[0][: 8 * CALIBRATION_TOKENS]
        length = min(loaded.model.context, CALIBRATION_TOKENS)
        tokens = np.array(loaded.tokenizer.encode(text)[: CALIBRATION_TOKENS // length * length])
        scales = calibrate(loaded.model, loaded.params, [tokens.reshape(-1, length)])
    return quantize(loaded.model, loaded.params, scales or {}, bits)


def perplexities(loaded: Checkpoint, model: QuantizedModel, tokenizer: Tokenizer) -> dict[str, Any]:
    """Perplexity of the checkpoint's weights and of the integers, on a sample of held-out prose."""
    held = split_prose(load_prose())[1]
    tokens = np.array(
        tokenizer.encode(held[: 8 * HELD_OUT_SAMPLE])[: HELD_OUT_SAMPLE + 1], np.int32
    )
    return {
        "tokens": HELD_OUT_SAMPLE,
        "checkpoint": float_perplexity(model, loaded.params, tokens),
        "quantised": integer_perplexity(model, tokens),
    }


def run_module(
    talk: Talk, name: str, make: Callable[[], Any], weights: QuantizedModel, wide: Wide
) -> Said:
    """Build an engine's module, and let it speak.

    Args:
        weights: as the accelerator takes them.
    """
    said = Said(name)
    began = time.perf_counter()
    with talk.console.status(f"{name}: building"):
        module = make()
        if hasattr(module, "build_model"):
            module.build_model()
    said.build_seconds = time.perf_counter() - began
    return talk.run(said, accelerator_engine(module, weights, wide), module)


def show(console: Console, reference: Said, engines: list[Said], bound: float) -> None:
    """Print the table of the engines, and the cycles of a step beside the bound by the lanes."""
    table = Table("engine", "build s", "run s", "s a token", "tokens equal", "logits equal")
    count = sum(len(logits) for logits in reference.logits)
    for said in (reference, *engines):
        table.add_row(
            said.name,
            f"{said.build_seconds:.1f}",
            f"{said.run_seconds:.1f}",
            f"{said.run_seconds / len(said.logits):.2f}",
            "yes" if said.tokens == reference.tokens else "NO",
            f"{count:,}" if said.equals(reference) else "NO",
        )
    console.print(table)
    for said in engines:
        if said.cycles:
            first, last = said.cycles[0], said.cycles[-1]
            console.print(
                f"{said.name}: {first:,} cycles the first step, {last:,} the last; the multipliers "
                f"need {bound:,.0f} ({bound / last:.0%})"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=FOLDER, help="a folder with a GPT-2")
    parser.add_argument("--prompt", default="Mr. Darcy looked at")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--greedy", action="store_true", help="always the likeliest token")
    parser.add_argument(
        "--candidates", type=int, default=20, help="likeliest tokens to choose from"
    )
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--bits", type=int, default=8, choices=(8, 4), help="bits of the weights")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--vector", type=int, default=16)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--verilator", action="store_true", help="in Verilator too")
    parser.add_argument("--out", type=Path, default=Path("out/llm"))
    args = parser.parse_args()
    warnings.simplefilter("ignore", DTypeWarning)
    console = Console()
    loaded = load_checkpoint(args.model)
    if loaded.tokenizer is None:
        raise AlloError(
            f"There is no tokenizer.json in {args.model}.",
            help="copy it from where the model came from.",
        )
    model = quantized(loaded, args.bits)
    weights = model.gpt_weights()
    wide = Wide(args.channels, args.lanes, args.vector, args.heads, bits=args.bits)
    with console.status("perplexity on held-out prose"):
        found = perplexities(loaded, model, loaded.tokenizer)
    ratio = found["quantised"] / found["checkpoint"]
    parameters = sum(value.size for name, value in loaded.params.items() if "head" not in name)
    console.print(
        f"{parameters:,} parameters; perplexity on {found['tokens']} held-out tokens: checkpoint "
        f"{found['checkpoint']:.3f}, W{args.bits}A8 {found['quantised']:.3f} ({ratio - 1:+.2%})\n"
    )
    sampling = (1 if args.greedy else args.candidates, args.temperature, args.seed)
    talk = Talk(console, loaded.tokenizer, loaded.model, args.prompt, args.tokens, sampling)
    reference = talk.run(Said("reference"), reference_engine(model, wide))
    with console.status("compiling"):
        scheduled = schedule(weights.config, wide)
        rtl = scheduled.build(target="verilog")
    makers = {
        "simulator": lambda: scheduled.build(target="simulator"),
        "rtl, in process": lambda: scheduled.build(target="verilog", simulator="jit"),
    }
    if args.verilator:
        makers["rtl, Verilator"] = lambda: rtl
    with empty_cache():
        engines = [run_module(talk, name, make, weights, wide) for name, make in makers.items()]
    show(console, reference, engines, channel_size(weights.config, wide))
    timed = [said.cycles for said in engines if said.cycles]
    same_cycles = all(cycles == timed[0] for cycles in timed)
    if len(timed) > 1:
        console.print(f"both RTL engines count the same cycles: {'yes' if same_cycles else 'NO'}")
    rtl.write_project(str(args.out))
    report = {
        "prompt": args.prompt,
        "text": loaded.tokenizer.decode(reference.tokens),
        "perplexity": found,
        "engines": [
            {
                "name": said.name,
                "equal": said.equals(reference),
                "cycles": said.cycles,
                "build_seconds": said.build_seconds,
                "run_seconds": said.run_seconds,
            }
            for said in engines
        ],
    }
    (args.out / "llm.json").write_text(json.dumps(report, indent=1) + "\n")
    console.print(f"Verilog, report and figures are in {args.out.resolve()}")
    good = all(said.equals(reference) for said in engines) and same_cycles
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AlloError as error:
        sys.exit(str(error))
