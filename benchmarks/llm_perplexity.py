"""Perplexity of SmolLM2-135M-Instruct as it is quantised, beside the weights of its package.

scripts/python benchmarks/llm_perplexity.py [--characters N] [--model FILE.gguf] [--ways NAME …] [--gpu]

Three texts that the steps are not calibrated on: the novels that the repository holds out, the reference of
Python's language (``pydoc_data.topics``) and the source of its library. Each is cut into windows of 512
tokens. The figures are of the float32 model, and of the integer reference of the wide accelerator, whose
bits the simulated RTL gives; those with keys and values of four bits are of the integer model.
With --gpu the same source computes with CuPy in the place of NumPy, and the logits of the first window are
compared with NumPy's, bit for bit; without, the whole takes hours of CPU.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np

from allo.designs.llm.checkpoints.float_model import FloatModel, Params
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.checkpoints.quantize import QuantizedModel, calibrate, quantize
from allo.designs.llm.config import Architecture
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.network.train import windows
from allo.designs.llm.wide.external.nibble_cache import NibbleCacheModel
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.quantized import quantize_for
from allo.designs.llm.wide.reference import WideGPT
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_cupy import Device

WINDOW = 512
CALIBRATION = 4000
"""Characters of each kind of text that steps are calibrated on."""
EIGHT = Wide(vector=16, parts=4, block=64)
FOUR = dataclasses.replace(EIGHT, bits=4, lanes=32, block=32)
"""The accelerators of scripts/demo llm smollm2, as far as they decide bits."""
LIMITS = {"w8a8": 1.015, "w4a8": 1.04}
NAMES = {
    "float32": "float32",
    "static": "W8A8, static steps",
    "steps": "W8A8, steps of tokens",
    "w8a8": "W8A8, steps of tokens, turned",
    "w4a8": "W4A8, the package's blocks",
    "w8a8_kv4": "W8A8, keys and values of 4 bits, a step a head",
    "w8a8_kv4_groups": "W8A8, keys and values of 4 bits, steps of 32",
    "w4a8_kv4": "W4A8, keys and values of 4 bits, a step a head",
}
GROUPS = {"w8a8_kv4": None, "w8a8_kv4_groups": 32, "w4a8_kv4": None}
"""Elements that share a step, where keys and values have four bits; None for all of a head."""
Forward = Callable[[np.ndarray], Any]


def texts() -> dict[str, str]:
    """Each kind of text, those that steps are calibrated on first."""
    library = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[a-d]*.py"))
    code = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in library)
    reference = "\n\n".join(topics[name] for name in sorted(topics))
    trained, held = split_prose(load_prose())
    return {"novels": trained[:CALIBRATION] + held, "reference": reference, "code": code}


def models(
    names: list[str], model: Architecture, params: Params, batches: list[np.ndarray]
) -> dict[str, QuantizedModel]:
    """The weights of the model in integers, in each way."""

    def integers(params: Params, **how: Any) -> QuantizedModel:
        return quantize(model, params, calibrate(model, params, batches), **how)

    makers: dict[str, Callable[[], QuantizedModel]] = {
        "static": lambda: integers(params),
        "steps": lambda: integers(params, block=EIGHT.block),
        "w8a8": lambda: quantize_for(EIGHT, model, params, batches),
        "w4a8": lambda: quantize_for(FOUR, model, params, batches),
    }
    made = {name: makers[name]() for name in {weights_of(name) for name in names}}
    return {name: made[weights_of(name)] for name in names}


def weights_of(name: str) -> str:
    """The way whose weights a way has."""
    return name.partition("_")[0]


def forward_of(name: str, weights: QuantizedModel) -> Forward:
    """The model in integers, of a window from its beginning."""
    if name in GROUPS:
        return NibbleCacheModel(weights, GROUPS[name]).forward
    return WideGPT(weights, EIGHT).forward


@dataclasses.dataclass(slots=True)
class Score:
    """What a model gave for a text: the sum of its losses in nats, and its likeliest tokens."""

    loss: float
    likeliest: np.ndarray

    @property
    def perplexity(self) -> float:
        """A token."""
        return math.exp(self.loss / self.likeliest.size)


def score(device: Device, forward: Forward, tokens: np.ndarray) -> Score:
    """Score a text, in windows side by side."""
    xp = device.arrays
    inputs, targets = windows(tokens, WINDOW)
    loss, likeliest = 0.0, []
    for first in range(0, len(inputs), device.batch):
        logits = forward(device.put(inputs[first : first + device.batch]))
        wanted = device.put(targets[first : first + device.batch])[..., None]
        for row, target in zip(logits, wanted, strict=True):
            wide = row.astype(np.float64)
            peak = wide.max(-1, keepdims=True)
            total = xp.log(xp.exp(wide - peak).sum(-1, keepdims=True)) + peak
            loss += float((total - xp.take_along_axis(wide, target, -1)).sum())
            likeliest.append(device.back(wide.argmax(-1)))
    return Score(loss, np.array(likeliest))


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--characters", type=int, default=172_000, help="of each text")
    parser.add_argument("--model", type=Path, help="a file of GGUF")
    parser.add_argument("--gpu", action="store_true", help="compute with CuPy")
    integer = [name for name in NAMES if name != "float32"]
    parser.add_argument(
        "--ways", nargs="*", choices=integer, default=integer, help="beside float32"
    )
    args = parser.parse_args()
    loaded = load_checkpoint(args.model or packaged(SMOLLM2))
    tokenizer = loaded.tokenizer
    if tokenizer is None:
        parser.error("the file has no tokenizer")
    model = dataclasses.replace(loaded.model, context=WINDOW)
    kinds = texts()
    batches = [np.array([tokenizer.encode(t[:CALIBRATION])[:256]]) for t in kinds.values()]
    found = models(args.ways, model, loaded.params, batches)
    parts = {
        kind: np.array(
            tokenizer.encode(text[CALIBRATION : CALIBRATION + args.characters], special=False)
        )
        for kind, text in kinds.items()
    }
    first = windows(parts["novels"], WINDOW)[0][:1]
    expected = {
        name: forward_of(name, weights)(first) for name, weights in found.items() if args.gpu
    }
    device = Device(gpu=args.gpu)
    on_device = {
        name: dataclasses.replace(weights, arrays=device.put_all(weights.arrays))
        for name, weights in found.items()
    }
    ways: dict[str, Forward] = {"float32": FloatModel(model, device.put_all(loaded.params)).forward}
    ways |= {name: forward_of(name, weights) for name, weights in on_device.items()}
    for name, logits in expected.items():
        same = device.back(ways[name](device.put(first))).view(np.uint32) == logits.view(np.uint32)
        print(f"{name}: {same.mean():.2%} of {same.size:,} logits of NumPy", flush=True)
        if not same.all():
            return 1
    return finish(
        "llm_perplexity",
        "Perplexity of SmolLM2-135M-Instruct",
        rows(device, ways, parts),
        args.json,
    )


def rows(device: Device, ways: dict[str, Forward], parts: dict[str, np.ndarray]) -> list[Row]:
    """A row for each text and way, and one of all texts for each way: the geometric mean."""
    made: list[Row] = []
    logs: dict[str, list[float]] = {name: [] for name in ways}
    shares: dict[str, list[float]] = {name: [] for name in ways}
    for kind, tokens in parts.items():
        plain: Score | None = None
        for name, forward in ways.items():
            got = score(device, forward, tokens)
            plain = plain or got
            equal = float((got.likeliest == plain.likeliest).mean())
            logs[name].append(math.log(got.perplexity / plain.perplexity))
            shares[name].append(equal)
            note = (
                f"{got.perplexity / plain.perplexity - 1:+.2%}, {equal:.1%} of the likeliest tokens, "
                f"{got.likeliest.size:,} tokens"
            )
            figures = {f"smollm2.{kind}.{name}.perplexity": round(got.perplexity, 4)}
            what, reference = f"{kind}, {NAMES[name]}", plain.perplexity
            made.append(Row(what, got.perplexity, "", "float32", reference, None, note, figures))
            print(made[-1].what, note, flush=True)
    for name, of_kinds in logs.items():
        share, limit = math.exp(float(np.mean(of_kinds))), LIMITS.get(name)
        figures = {
            f"smollm2.all.{name}.percent_off": round(100 * (share - 1), 2),
            f"smollm2.all.{name}.share": round(float(np.mean(shares[name])), 3),
        }
        made.append(
            Row(f"all, {NAMES[name]}", share, "", "limit" if limit else "float32", limit or 1.0,
                True if limit else None, f"{share - 1:+.2%}", {} if name == "float32" else figures)
        )  # fmt: skip
    return made


if __name__ == "__main__":
    sys.exit(main())
