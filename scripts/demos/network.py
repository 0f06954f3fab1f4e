"""Quantised networks from their files to hardware.

    scripts/demo network [--images N] [--json FILE]

First a perceptron of 4-bit weights and activations, 64-32-32-10, which is trained here on images of digits
that a font draws; its QONNX file goes through qonnx's executor, the CPU build and hardware (the in-process
engine), N images each, and one image through Verilator. Then, where the folder ../shared/networks stands
beside the checkout, the networks of others there on random inputs: four in QONNX, and two of MLPerf Tiny in
TFLite. Every result in hardware has the bits of the CPU, and every class is that of the file's own
interpreter, or the status is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from rich.console import Console
from rich.table import Table

from allo.backend.devices import DEFAULT_DEVICE
from allo.cli.network import tried
from allo.designs.quantised.digits import images
from allo.designs.quantised.perceptron import exported, trained
from allo.frontend import from_qonnx
from allo.models.trial import Trial

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "networks"
OTHERS = (
    "qonnx/jet_tagging_6bit.onnx",
    "qonnx/keyword_mlp_w3a3.onnx",
    "qonnx/tfc_1w1a.onnx",
    "qonnx/tfc_2w2a.onnx",
    "tflite/anomaly_autoencoder_int8.tflite",
    "tflite/keywords_ds_cnn_int8.tflite",
)
DEVICE, CLOCK = DEFAULT_DEVICE, 200.0
RANDOM, SIMULATED = 10, 2


@dataclass(frozen=True)
class Result:
    """A network that was tried."""

    name: str
    trial: Trial

    @property
    def agreement(self) -> float:
        """The share of the samples whose class on the CPU is that of the file's interpreter."""
        return next(row.agreement for row in self.trial.accuracy.rows if row.name == "CPU")

    @property
    def is_right(self) -> bool:
        """Whether everything is as it should be."""
        return self.trial.is_right and self.agreement == 1.0


def own(folder: Path, count: int, console: Console) -> tuple[Result, bool]:
    """The perceptron of digits; and whether Verilator agrees with the CPU on an image."""
    network = trained(*images(3000, seed=1), hidden=(32, 32))
    pixels, labels = images(count, seed=2)
    file, data = folder / "digits.onnx", folder / "digits.npz"
    onnx.save(exported(network), str(file))
    np.savez(data, image=pixels, labels=labels)
    with console.status("digits") as status:
        trial = tried(file, data, count, count, DEVICE, CLOCK, status.update)
        schedule = from_qonnx(file, target="mlir")
        schedule["**"].pipeline()
        status.update("Verilator")
        design = schedule.build(target="verilog", simulator="verilator")
        image = pixels[:1]
        same = np.array_equal(design(image), schedule.build()(image))
    return Result("digits, trained here", trial), same


def others(console: Console) -> list[Result]:
    """The networks of others, where they are."""
    found = []
    for name in OTHERS:
        file = BESIDE / name
        if file.is_file():
            with console.status(name) as status:
                trial = tried(file, None, RANDOM, SIMULATED, DEVICE, CLOCK, status.update)
            found.append(Result(file.stem, trial))
    return found


def table(results: list[Result]) -> Table:
    """A row for each network."""
    shown = Table(
        "network", title=f"simulated for {DEVICE} at {CLOCK:g} MHz; LUT, DSP and MHz estimated"
    )
    for head in ("classes as file", "hardware = CPU", "cycles", "µs", "MHz", "LUT", "DSP"):
        shown.add_column(head, justify="right")
    for result in results:
        trial = result.trial
        fmax = "" if trial.fmax_mhz is None else f"{trial.fmax_mhz:.0f}"
        shown.add_row(
            result.name,
            f"{result.agreement:.0%}",
            f"{trial.equal} of {trial.simulated}",
            f"{trial.cycles:,}",
            f"{trial.latency_us:,.1f}",
            fmax,
            f"{trial.resources.get('lut', 0):,}",
            f"{trial.resources.get('dsp', 0):,}",
        )
    return shown


def main() -> int:
    """Run all, print the tables; 1 where something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--images", type=int, default=100, help="of digits")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    console = Console(width=110)
    with tempfile.TemporaryDirectory() as folder:
        digits, same = own(Path(folder), arguments.images, console)
    console.print(digits.trial)
    console.print(f"Verilator has the bits of the CPU: {'yes' if same else 'NO'}")
    results = [digits, *others(console)]
    if len(results) == 1:
        console.print(f"There is no folder {BESIDE}: the networks of others were not tried.")
    console.print(table(results))
    if arguments.json is not None:
        figures: dict[str, Any] = {r.name: r.trial.to_dict() for r in results}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if same and all(result.is_right for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
