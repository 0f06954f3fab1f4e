"""Models from PyTorch to hardware, trained on the images of digits that scikit-learn ships.

    scripts/demo torch [--images N] [--json FILE]

LeNet as PyTorch has it, in float32, in fixed point, and quantised (W8A8 and W4A8); then a perceptron, a
residual network and an attention block, quantised. The accuracy of each is that on all test images. A
quantised model runs in hardware (the in-process engine) on every test image, and has the bits of its
integer reference in NumPy; a float one on the first N, with the bits of the CPU. Cycles are those of an
image, predicted and measured. The status is 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import allo
from allo.designs.torch.digits import Attention, Perceptron, ResidualNetwork
from allo.designs.torch.lenet import LeNet, compiled, schedule, schedule_integers
from allo.ir.types import Fixed

SEED = 2026
TRAINING = 1400
CALIBRATION = 200
EPOCHS = 12
BATCH = 50
FIXED = {"default": Fixed(20, 10)}
CLOSE = 1e-4


@dataclass(frozen=True)
class Digits:
    """Images of 8 × 8 in 0 … 1, and their digits."""

    images: torch.Tensor
    labels: torch.Tensor

    @property
    def test(self) -> np.ndarray:
        """The images that no training has seen."""
        return self.images[TRAINING:].numpy()

    @property
    def wanted(self) -> np.ndarray:
        """Their digits."""
        return self.labels[TRAINING:].numpy()


@dataclass(frozen=True)
class Build:
    """A line of the table.

    Attributes:
        model, build: what was built, and how.
        accuracy: the share of the test images that are right.
        simulated: images that ran in hardware; all of them had ``equal`` bits, or not.
        cycles, predicted: of one image.
    """

    model: str
    build: str
    accuracy: float
    simulated: int = 0
    equal: bool = True
    cycles: int | None = None
    predicted: int | None = None


def digits() -> Digits:
    """The data set, shuffled."""
    images, labels = load_digits(return_X_y=True)
    shuffled = np.random.default_rng(SEED).permutation(len(labels))
    scaled = images[shuffled].reshape(-1, 1, 8, 8).astype(np.float32) / 16
    return Digits(torch.from_numpy(scaled), torch.from_numpy(labels[shuffled]))


def trained(model: torch.nn.Module, data: Digits) -> Any:
    """A network trained on the images."""
    images, labels = data.images[:TRAINING], data.labels[:TRAINING]
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(labels)).split(BATCH):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimiser.step()
    return model.eval()


def in_pytorch(model: Any, data: Digits) -> np.ndarray:
    """The scores of the test images by PyTorch."""
    with torch.no_grad():
        return np.concatenate([model(image[None]).numpy() for image in data.images[TRAINING:]])


def scores(module: Any, images: np.ndarray) -> np.ndarray:
    """What a built model gives for each image, one call for each."""
    return np.concatenate([np.asarray(module(image[None]), np.float32) for image in images])


def accuracy(found: np.ndarray, data: Digits) -> float:
    """The share of images whose highest score is that of their digit."""
    return float((found.argmax(1) == data.wanted).mean())


def compared(
    name: str, build: str, s: Any, expected: np.ndarray, data: Digits, count: int
) -> Build:
    """Run the first ``count`` images in hardware, and compare with what is expected."""
    design = s.build(target="verilog", simulator="jit")
    found = scores(design, data.test[:count])
    same = found.tobytes() == expected[: len(found)].tobytes()
    right = accuracy(expected, data)
    return Build(name, build, right, len(found), same, design.cycles, design.report.cycles)


def quantised(
    name: str, model: Any, data: Digits, plan: Callable[[Any], Any], scheme: str = "w8a8"
) -> Build:
    """A quantised model in hardware on every test image."""
    integers = allo.quantize(model, data.images[:CALIBRATION], scheme)
    reference = np.concatenate([integers.reference(image[None]) for image in data.test])
    s = plan(integers.customize())
    return compared(name, scheme, s, reference, data, len(data.test))


def pipelined(s: Any) -> Any:
    """Every innermost loop pipelined."""
    s["**"].pipeline()
    return s


def floats(model: LeNet, data: Digits, count: int) -> list[Build]:
    """LeNet in float32 and in fixed point."""
    builds = []
    for name, s in {
        "float32, plain nests": compiled(model, library=False),
        "float32": compiled(model),
        "float32, pipelined": schedule(compiled(model)),
        "Fixed(20, 10), pipelined": schedule(compiled(model, FIXED)),
    }.items():
        expected = scores(s.build(), data.test)
        if "float32" in name:
            np.testing.assert_allclose(expected, in_pytorch(model, data), rtol=CLOSE, atol=CLOSE)
        builds.append(compared("LeNet", name, s, expected, data, count))
    return builds


def shown(builds: list[Build]) -> Table:
    """The table."""
    table = Table(
        "model", "build", "accuracy", "images in hardware", "equal bits", "cycles", "predicted"
    )
    for build in builds:
        ran = build.simulated > 0
        table.add_row(
            build.model,
            build.build,
            f"{build.accuracy:.2%}",
            str(build.simulated) if ran else "",
            ("yes" if build.equal else "NO") if ran else "",
            f"{build.cycles:,}" if build.cycles else "",
            f"{build.predicted:,}" if build.predicted else "",
        )
    return table


def main() -> int:
    """Train, quantise, compile, compare; the status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=50, help="images for the float builds")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    began = time.monotonic()
    data = digits()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # the models are small, and threads would wait for each other
    builds = []
    for name, made, plan in (
        ("LeNet", LeNet(), schedule_integers),
        ("perceptron", Perceptron(), pipelined),
        ("residual network", ResidualNetwork(), pipelined),
        ("attention block", Attention(), pipelined),
    ):
        model = trained(made, data)
        builds.append(Build(name, "PyTorch, float32", accuracy(in_pytorch(model, data), data)))
        if isinstance(model, LeNet):
            builds += floats(model, data, options.images)
        for scheme in ("w8a8", "w4a8") if isinstance(model, LeNet) else ("w8a8",):
            builds.append(quantised(name, model, data, plan, scheme))
    if options.json:
        options.json.write_text(json.dumps([asdict(build) for build in builds], indent=2))
    console = Console()
    console.print(shown(builds))
    console.print(f"{len(data.wanted)} test images, {time.monotonic() - began:.0f} s")
    return int(not all(build.equal and build.cycles == build.predicted for build in builds))


if __name__ == "__main__":
    sys.exit(main())
