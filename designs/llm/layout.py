"""How the accelerator's memories are filled: weights in the order they stream, tables, cache.

The linear engine works off *jobs*: matrix products in a fixed order. A job of ``depth`` inputs
and ``outputs`` outputs is cut in tiles of ``lanes`` outputs, and reads for every tile ``depth``
words of ``lanes`` weights: word k of a tile holds the weights of input k, lane 0 lowest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allo.errors import AlloError

from .checkpoints.quantize import QuantizedModel
from .config import Architecture


class ParallelismError(AlloError):
    """A parallelism the dimensions of the model do not divide by."""


@dataclass(frozen=True, slots=True)
class Job:
    """One matrix product of the linear engine: which linear layers, how deep, how many outputs."""

    names: tuple[str, ...]
    depth: int
    outputs: int


def jobs_of(config: Architecture) -> tuple[Job, ...]:
    """Every job of one step, in order: four a layer, then the logits."""
    d, ffn = config.d, config.ffn
    jobs: list[Job] = []
    for layer in range(config.layers):
        p = f"{layer}."
        jobs.append(Job((p + "q", p + "k", p + "v"), d, 3 * d))
        jobs.append(Job((p + "p",), d, d))
        jobs.append(Job((p + "f1",), d, ffn))
        jobs.append(Job((p + "f2",), ffn, d))
    jobs.append(Job(("head",), d, config.vocab))
    return tuple(jobs)


def check_lanes(config: Architecture, lanes: int) -> None:
    """Refuse a parallelism that does not divide every output dimension.

    Raises:
        ParallelismError: naming the job and the nearest parallelism that works.
    """
    legal = [n for n in range(1, config.d + 1) if all(j.outputs % n == 0 for j in jobs_of(config))]
    if lanes in legal:
        return
    near = min(legal, key=lambda n: abs(n - lanes))
    bad = next((j for j in jobs_of(config) if lanes < 1 or j.outputs % lanes), jobs_of(config)[0])
    raise ParallelismError(
        f"{lanes} lanes do not divide the {bad.outputs} outputs of {'/'.join(bad.names)}.",
        help=f"the nearest parallelism that divides every layer is {near}.",
    )


def weight_words(weights: QuantizedModel, lanes: int) -> list[int]:
    """All weights in streaming order, as words of ``8 * lanes`` bits."""
    check_lanes(weights.config, lanes)
    words: list[int] = []
    for job in jobs_of(weights.config):
        matrix = np.concatenate([weights.arrays[n + ".w"] for n in job.names])
        tiles = matrix.reshape(job.outputs // lanes, lanes, job.depth).transpose(0, 2, 1)
        raw = np.ascontiguousarray(tiles).view(np.uint8).reshape(-1, lanes)
        words += [int.from_bytes(row.tobytes(), "little") for row in raw]
    return words


def output_scales(weights: QuantizedModel) -> tuple[np.ndarray, np.ndarray]:
    """Factor and bias of every output of every job, in order, float32."""
    names = [n for job in jobs_of(weights.config) for n in job.names]
    scale = np.concatenate([weights.arrays[n + ".s"] for n in names])
    bias = np.concatenate([weights.arrays[n + ".b"] for n in names])
    return scale, bias


def norm_tables(weights: QuantizedModel) -> np.ndarray:
    """Gain and bias of every norm in the order they run, float32 (2, 2 * layers + 1, d)."""
    names = [f"{i}.{n}" for i in range(weights.config.layers) for n in ("norm1", "norm2")]
    names.append("norm")
    return np.stack([[weights.arrays[f"{n}.{kind}"] for n in names] for kind in "gb"])


def layer_factors(weights: QuantizedModel) -> np.ndarray:
    """Per layer: softmax exponent factor, attention output factor, GELU factor; float32 (layers, 3)."""
    rows = [
        [weights.arrays[f"{i}.{n}"][0] for n in ("softmax", "attend", "gelu")]
        for i in range(weights.config.layers)
    ]
    return np.array(rows, np.float32)
