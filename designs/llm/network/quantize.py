"""From the float32 model to W8A8: ``scripts/python designs/llm/network/quantize.py``.

Weights are int8 with one scale an output channel; activations int8 with one static scale
each, taken from calibration text. Scales are folded so that the hardware multiplies once:
into the normalisation's gain and bias, into the requantisation factors, into the softmax.
"""

from __future__ import annotations

import argparse
from math import exp
from pathlib import Path

import numpy as np

from allo.designs.llm.config import GPTConfig
from allo.designs.llm.network import gpt
from allo.designs.llm.network.corpus import encode, make_text
from allo.designs.llm.network.reference import QuantizedGPT
from allo.designs.llm.network.train import DATA, TRAIN_SEED, held_out_tokens, perplexity, windows
from allo.designs.llm.network.weights import QuantizedWeights, save_weights

CALIBRATION_CHARACTERS = 30_000
PROBABILITY_LEVELS = 255.0


def quantize_rows(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 rows and their scales: ``weight ≈ rows * scale[:, None]``, symmetric, round to even."""
    scale = np.maximum(np.abs(weight).max(1), 1e-12) / 127.0
    rows = np.clip(np.rint(weight / scale[:, None]), -127, 127)
    return rows.astype(np.int8), scale.astype(np.float64)


def calibrate(params: gpt.Params, config: GPTConfig, tokens: np.ndarray) -> dict[str, float]:
    """The scale of every activation: largest magnitude seen over 127."""
    peaks: dict[str, float] = {}

    def observe(name: str, value: np.ndarray) -> None:
        peaks[name] = max(peaks.get(name, 0.0), float(np.abs(value).max()))

    inputs, _ = windows(tokens, config.context)
    for start in range(0, len(inputs), 16):
        gpt.forward(params, inputs[start : start + 16], config, observe)
    return {name: peak / 127.0 for name, peak in peaks.items()}


def quantize(params: gpt.Params, config: GPTConfig, scales: dict[str, float]) -> QuantizedWeights:
    """The W8A8 model: every array the accelerator reads, in the types it reads."""
    arrays: dict[str, np.ndarray] = {
        "token": params["token"],
        "position": params["position"],
    }

    def norm(name: str) -> None:
        arrays[name + ".g"] = params[name + ".g"] / scales[name]
        arrays[name + ".b"] = params[name + ".b"] / scales[name]

    def linear(name: str, in_scale: float, out_scale: float = 1.0) -> None:
        rows, row_scale = quantize_rows(params[name + ".w"])
        arrays[name + ".w"] = rows
        arrays[name + ".s"] = row_scale * in_scale / out_scale
        arrays[name + ".b"] = params[name + ".b"] / out_scale

    for layer in range(config.layers):
        p = f"{layer}."
        norm(p + "norm1")
        for name in "qkv":
            linear(p + name, scales[p + "norm1"], scales[p + name])
        arrays[p + "softmax"] = np.array(
            [scales[p + "q"] * scales[p + "k"] * config.head_dim**-0.5]
        )
        arrays[p + "attend"] = np.array([scales[p + "v"] / scales[p + "o"]])
        linear(p + "p", scales[p + "o"])
        norm(p + "norm2")
        linear(p + "f1", scales[p + "norm2"])
        arrays[p + "gelu"] = np.array([1.0 / scales[p + "gelu"]])
        linear(p + "f2", scales[p + "gelu"])
    norm("norm")
    linear("head", scales["norm"])
    typed = {k: v if v.dtype == np.int8 else v.astype(np.float32) for k, v in arrays.items()}
    return QuantizedWeights(config, typed)


def quantized_perplexity(weights: QuantizedWeights, tokens: np.ndarray) -> float:
    """Perplexity per character of the W8A8 model, by the bit-exact reference."""
    inputs, targets = windows(tokens, weights.config.context)
    model = QuantizedGPT(weights)
    total = 0.0
    for start in range(0, len(inputs), 16):
        logits = model.forward(inputs[start : start + 16])
        rows = targets[start : start + 16]
        total += gpt.cross_entropy(logits, rows)[0] * rows.size
    return exp(total / targets.size)


def main() -> None:
    """Quantise the stored parameters, write them, and print the perplexity before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--params", type=Path, default=DATA / "char_gpt_f32.npz")
    parser.add_argument("--out", type=Path, default=DATA / "char_gpt_w8a8.npz")
    args = parser.parse_args()
    config = GPTConfig()
    with np.load(args.params) as stored:
        params = {k: stored[k] for k in stored.files}
    scales = calibrate(params, config, encode(make_text(CALIBRATION_CHARACTERS, TRAIN_SEED + 1)))
    weights = quantize(params, config, scales)
    save_weights(args.out, weights)
    tokens = held_out_tokens()
    before, after = perplexity(params, config, tokens), quantized_perplexity(weights, tokens)
    print(
        f"held-out perplexity: float32 {before:.4f}, W8A8 {after:.4f} ({after / before - 1:+.2%})"
    )
    print(f"wrote {args.out} ({args.out.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
