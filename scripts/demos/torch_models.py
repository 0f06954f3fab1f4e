"""LeNet from PyTorch to hardware: trained on the images of digits that scikit-learn ships.

    scripts/demo torch [--images N]

The accuracy of PyTorch, of the CPU build and of a build in fixed point on all test images. In hardware
(the in-process engine) the first N images: the bits of the CPU, the predicted and the measured cycles,
as imported and pipelined. The status is 1 when anything differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

from allo.designs.torch.lenet import LeNet, compiled, schedule
from allo.ir.types import Fixed

SEED = 2026
TRAINING = 1400
EPOCHS = 12
BATCH = 50
FIXED = {"default": Fixed(20, 10)}
CLOSE = 1e-4


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Images of 8 × 8 in 0 … 1, and their digits."""
    images, labels = load_digits(return_X_y=True)
    shuffled = np.random.default_rng(SEED).permutation(len(labels))
    scaled = images[shuffled].reshape(-1, 1, 8, 8).astype(np.float32) / 16
    return torch.from_numpy(scaled), torch.from_numpy(labels[shuffled])


def trained(images: torch.Tensor, labels: torch.Tensor) -> LeNet:
    """A network trained on the images."""
    torch.manual_seed(SEED)
    model = LeNet()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(labels)).split(BATCH):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimiser.step()
    return model.eval()


def scores(module: Any, images: np.ndarray) -> np.ndarray:
    """What a built model gives for each image, one call for each."""
    return np.concatenate([np.asarray(module(image[None]), np.float32) for image in images])


def accuracy(found: np.ndarray, labels: np.ndarray) -> float:
    """The share of images whose highest score is that of their digit."""
    return float((found.argmax(1) == labels).mean())


def main() -> int:
    """Train, compile, compare; the status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=50, help="images to simulate in hardware")
    count = parser.parse_args().images
    began = time.monotonic()
    images, labels = digits()
    model = trained(images[:TRAINING], labels[:TRAINING])
    test, wanted = images[TRAINING:].numpy(), labels[TRAINING:].numpy()
    with torch.no_grad():
        reference = model(images[TRAINING:]).numpy()
    table = Table("build", "accuracy", "images in hardware", "equal bits", "cycles", "predicted")
    table.add_row("PyTorch, float32", f"{accuracy(reference, wanted):.2%}", "", "", "", "")
    failed = False
    builds = {
        "float32": lambda: compiled(model),
        "float32, pipelined": lambda: schedule(compiled(model)),
        "Fixed(20, 10), pipelined": lambda: schedule(compiled(model, FIXED)),
    }
    for name, make in builds.items():
        s = make()
        on_cpu = scores(s.build(), test)
        if "float32" in name and not np.allclose(on_cpu, reference, rtol=CLOSE, atol=CLOSE):
            failed = True
        design = s.build(target="verilog", simulator="jit")
        in_hardware = scores(design, test[:count])
        same = in_hardware.tobytes() == on_cpu[:count].tobytes()
        failed |= not same or design.cycles != design.report.cycles
        table.add_row(
            name,
            f"{accuracy(on_cpu, wanted):.2%}",
            str(len(in_hardware)),
            "yes" if same else "NO",
            f"{design.cycles:,}",
            f"{design.report.cycles:,}",
        )
    console = Console()
    console.print(table)
    console.print(f"{len(wanted)} test images, {time.monotonic() - began:.0f} s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
