"""Train the character model: ``scripts/python designs/llm/network/train.py``.

A few minutes on a CPU with NumPy alone. Writes ``float32`` parameters; ``quantize.py``
makes the W8A8 model of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from math import cos, exp, pi
from pathlib import Path

import numpy as np

from allo.designs.llm.config import GPTConfig
from allo.designs.llm.network import gpt
from allo.designs.llm.network.corpus import encode, make_text

DATA = Path(__file__).resolve().parents[1] / "data"
TRAIN_SEED, HELD_OUT_SEED = 1, 999_983
HELD_OUT_CHARACTERS = 40_000


def held_out_tokens() -> np.ndarray:
    """Text the model has never seen, as tokens."""
    return encode(make_text(HELD_OUT_CHARACTERS, HELD_OUT_SEED))


def windows(tokens: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Non-overlapping (inputs, targets) of ``length`` tokens each."""
    count = (len(tokens) - 1) // length
    inputs = tokens[: count * length].reshape(count, length)
    targets = tokens[1 : count * length + 1].reshape(count, length)
    return inputs, targets


def train(
    config: GPTConfig,
    steps: int,
    batch: int,
    peak_rate: float,
    seed: int,
    log: Callable[[str], None] = print,
) -> gpt.Params:
    """Train from scratch and return the parameters."""
    tokens = encode(make_text(1_200_000, TRAIN_SEED))
    rng = np.random.default_rng(seed)
    params = gpt.init_params(config, seed)
    adam = gpt.Adam(params)
    started = time.perf_counter()
    for step in range(steps):
        starts = rng.integers(0, len(tokens) - config.context - 1, batch)
        rows = starts[:, None] + np.arange(config.context)
        loss, grads = gpt.loss_and_grads(params, tokens[rows], tokens[rows + 1], config)
        warm = min(1.0, (step + 1) / 50)
        rate = peak_rate * warm * (0.05 + 0.95 * 0.5 * (1 + cos(pi * step / steps)))
        adam.step(params, grads, rate)
        if step % 50 == 0 or step == steps - 1:
            log(f"step {step:5d}  loss {loss:.4f}  {time.perf_counter() - started:6.1f} s")
    return params


def perplexity(params: gpt.Params, config: GPTConfig, tokens: np.ndarray) -> float:
    """Perplexity per character of the float32 model."""
    inputs, targets = windows(tokens, config.context)
    logits, _ = gpt.forward(params, inputs, config)
    return exp(gpt.cross_entropy(logits, targets)[0])


def main() -> None:
    """Train the model by the command line's options, write it, and print its perplexity."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=DATA / "char_gpt_f32.npz")
    args = parser.parse_args()
    config = GPTConfig()
    params = train(config, args.steps, args.batch, args.rate, args.seed)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.out, **params)  # type: ignore[arg-type]
    print(f"held-out perplexity {perplexity(params, config, held_out_tokens()):.4f}")
    print(f"wrote {args.out} ({args.out.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
