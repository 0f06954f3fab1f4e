"""Runs a network on a board on many samples, a batch a call.

    python3 batches.py samples.npy -o results.npy

A file has the samples of one input along its first dimension; several inputs are as many files.
It needs driver.py and design.json beside it, which Allo wrote.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from driver import Design, DesignError


def stream(design: Any, inputs: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """The results of all samples, and the seconds that the calls took.

    Args:
        design: what takes a batch, the first dimension of its arrays, and returns its results.
        inputs: an array for each argument, whose first dimension counts the samples.
    """
    arguments = design.described["arguments"]
    if len(inputs) != len(arguments):
        raise DesignError(f"The network has {len(arguments)} inputs, not {len(inputs)}.")
    counts = {len(array) for array in inputs}
    if len(counts) != 1 or not min(counts):
        raise DesignError(f"The inputs have {sorted(counts)} samples: give each as many.")
    batch, count = arguments[0]["shape"][0], counts.pop()
    found: list[list[np.ndarray]] = []
    seconds = 0.0
    for start in range(0, count, batch):
        given = [
            _batch(argument, array[start : start + batch])
            for argument, array in zip(arguments, inputs)  # noqa: B905  boards have Python 3.8
        ]
        begun = time.perf_counter()
        results = design(*given)
        seconds += time.perf_counter() - begun
        listed = results if isinstance(results, list) else [results]
        found.append([result[: count - start] for result in listed])
    return [np.concatenate(parts) for parts in zip(*found)], seconds  # noqa: B905


def _batch(argument: dict[str, Any], samples: np.ndarray) -> np.ndarray:
    """The samples of a call; behind the last of all stand zeros."""
    whole = np.zeros(argument["shape"], argument["dtype"])
    if samples[0].size != whole[0].size:
        raise DesignError(
            f"A sample of {argument['name']} has the shape {samples.shape[1:]}, not {whole.shape[1:]}."
        )
    whole[: len(samples)] = samples.reshape(len(samples), *whole.shape[1:])
    return whole


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Run a network on many samples.")
    parser.add_argument("samples", nargs="+", help=".npy of one input: the first dimension counts")
    parser.add_argument("-o", "--output", required=True, help=".npy of the results")
    parser.add_argument(
        "--image", help="the .bit or .xclbin, where it is another one than Allo named"
    )
    options = parser.parse_args()
    results, seconds = stream(Design(options.image), [np.load(name) for name in options.samples])
    path = Path(options.output)
    for number, result in enumerate(results):
        np.save(path if len(results) == 1 else path.with_stem(f"{path.stem}_{number}"), result)
    count = len(results[0])
    rate = f"{count / seconds:,.0f} a second, transfers included"
    sys.stdout.write(f"{count} samples in {seconds:.3f} s: {rate}\n")


if __name__ == "__main__":
    main()
