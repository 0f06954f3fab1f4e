"""From the float32 model to W8A8: ``scripts/python designs/llm/network/quantize.py``.

Weights are int8 with one scale an output channel; activations int8 with one static scale
each, taken from calibration text. Scales are folded so that the hardware multiplies once:
into the normalisation's gain and bias, into the requantisation factors, into the softmax.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.checkpoints.quantize import calibrate as calibrate_model
from allo.designs.llm.checkpoints.quantize import quantize as quantize_model
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.language.speaker import integer_perplexity
from allo.designs.llm.network import gpt
from allo.designs.llm.network.corpus import encode, make_text
from allo.designs.llm.network.train import DATA, TRAIN_SEED, held_out_tokens, perplexity, windows
from allo.designs.llm.network.weights import save_weights

CALIBRATION_CHARACTERS = 30_000


def calibrate(params: gpt.Params, config: GPTConfig, tokens: np.ndarray) -> dict[str, float]:
    """The scale of every activation: largest magnitude seen over 127."""
    inputs, _ = windows(tokens, config.context)
    batches = [inputs[start : start + 16] for start in range(0, len(inputs), 16)]
    return calibrate_model(config, params, batches)


def quantize(params: gpt.Params, config: GPTConfig, scales: dict[str, float]) -> QuantizedModel:
    """The W8A8 model: every array the accelerator reads, in the types it reads."""
    return quantize_model(config, params, scales)


def quantized_perplexity(weights: QuantizedModel, tokens: np.ndarray) -> float:
    """Perplexity per character of the W8A8 model, by the bit-exact reference."""
    return integer_perplexity(weights, tokens)


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
