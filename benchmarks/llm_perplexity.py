"""Perplexity of SmolLM2-135M-Instruct as it is quantised, beside the weights of its package.

scripts/python benchmarks/llm_perplexity.py [--characters N] [--model FILE.gguf]

Three texts that the steps are not calibrated on: the novels that the repository holds out, the reference of
Python's language (``pydoc_data.topics``) and the source of its library. Each is cut into windows of 512
tokens. The figures are of the integer reference in NumPy, and of the float32 model; with 170,000 characters
of each text it takes an hour of CPU.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np

from allo.designs.llm.checkpoints.float_model import FloatModel
from allo.designs.llm.checkpoints.integer_model import IntegerModel
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.checkpoints.quantize import calibrate, quantize
from allo.designs.llm.checkpoints.rotation import smoothed, turned
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.speaker import perplexity
from benchmarks.harness import Row, finish

WINDOW = 512
CALIBRATION = 4000
"""Characters of each kind of text that steps are calibrated on."""
Forward = Callable[[np.ndarray], np.ndarray]


def texts() -> dict[str, str]:
    """Each kind of text, those that steps are calibrated on first."""
    library = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[a-d]*.py"))
    code = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in library)
    reference = "\n\n".join(topics[name] for name in sorted(topics))
    trained, held = split_prose(load_prose())
    return {"novels": trained[:CALIBRATION] + held, "reference of Python": reference, "code": code}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--characters", type=int, default=6000, help="of each text")
    parser.add_argument("--model", type=Path, help="a file of GGUF")
    args, others = parser.parse_known_args()
    loaded = load_checkpoint(args.model or packaged(SMOLLM2))
    tokenizer = loaded.tokenizer
    if tokenizer is None:
        parser.error("the file has no tokenizer")
    model = dataclasses.replace(loaded.model, context=WINDOW)
    kinds = texts()
    batches = [np.array([tokenizer.encode(t[:CALIBRATION])[:256]]) for t in kinds.values()]
    even = smoothed(model, loaded.params, batches)
    params = {"": loaded.params, ", turned": turned(model, even)}
    integers = {
        "W8A8, static": quantize(model, params[""], calibrate(model, params[""], batches)),
        **{
            f"W8A8, steps of tokens{how}": quantize(
                model, given, calibrate(model, given, batches), block=64
            )
            for how, given in params.items()
        },
    }
    ways: dict[str, Forward] = {"float32": FloatModel(model, loaded.params).forward}
    ways |= {name: IntegerModel(weights).forward for name, weights in integers.items()}
    logs: dict[str, list[float]] = {name: [] for name in ways}
    rows: list[Row] = []
    for kind, text in kinds.items():
        part = text[CALIBRATION : CALIBRATION + args.characters]
        tokens = np.array(tokenizer.encode(part, special=False))
        for name, forward in ways.items():
            found = perplexity(forward, tokens, WINDOW)
            logs[name].append(math.log(found))
            plain = math.exp(logs["float32"][-1])
            note = f"{found / plain - 1:+.2%}, {len(tokens):,} tokens"
            rows.append(Row(f"{kind}, {name}", found, "", "float32", plain, None, note))
    for name, of_kinds in logs.items():
        share = math.exp(float(np.mean(of_kinds)) - float(np.mean(logs["float32"])))
        limit = 1.015 if "turned" in name else None
        rows.append(
            Row(f"all, {name}", share, "", "limit" if limit else "float32", limit or 1.0,
                True if limit else None, f"{share - 1:+.2%}")
        )  # fmt: skip
    return finish("llm_perplexity", "Perplexity of SmolLM2-135M-Instruct", rows, others)


if __name__ == "__main__":
    sys.exit(main())
