"""LeNet of `designs/torch` on an ULX3S 85F: bitstream, cycles an image, and images a second.

The bitstream is placed and routed for 50 MHz. The cycles are those that the board's counter tells over the
serial port of the simulated board, whose scores must be the reference's in every bit. Images a second are the
clock over the cycles: what the device computes, without the time on the line.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

from allo.boards import connect, simulate
from allo.errors import AlloError, ToolMissingError
from benchmarks.harness import Row, command_line, finish
from scripts.demos.board_models import BOARD, CLOCK_MHZ, PATIENCE_S, lenet, scores

IMAGES = 8
TIMEOUT_S = 7200.0


def measure() -> list[Row]:
    """The figures of LeNet.

    Raises:
        AlloError: a score differs from the reference.
        ToolMissingError: PyTorch is not installed.
        TimingError: the clock is not reached.
    """
    if importlib.util.find_spec("torch") is None:
        raise ToolMissingError("LeNet is a model of PyTorch.", help="run `scripts/setup --torch`.")
    module = lenet()
    with simulate(module) as port, connect(port, module, patience=PATIENCE_S) as device:
        equal, cycles = scores(device, IMAGES)
    if equal != IMAGES:
        raise AlloError(
            f"{IMAGES - equal} of {IMAGES} images have other scores than the reference."
        )
    slowest = max(cycles)
    with tempfile.TemporaryDirectory() as folder:
        made = module.bitstream(Path(folder, "lenet.bit"), clock_mhz=CLOCK_MHZ, timeout=TIMEOUT_S)
    taken = {f"boards.lenet.{name}": used for name, (used, have) in made.cells.items() if have}
    lut, have = made.cells["lut"]
    rate = round(made.clock_mhz * 1e6 / slowest)
    return [
        Row("tables, shell included", lut, "LUT", BOARD, have, True, figures=taken),
        Row("clock that routing reaches", round(made.fmax_mhz, 1), "MHz", "asked", CLOCK_MHZ, False,
            figures={"boards.lenet.mhz": round(made.fmax_mhz, 1)}),
        Row("cycles of an image", slowest, "cycles", "products", 0.0,
            note=f"the slowest of {IMAGES} images", figures={"boards.lenet.cycles": slowest}),
        Row("images", rate, "1/s", "clock", made.clock_mhz * 1e6,
            figures={"boards.lenet.images.rate": rate}),
    ]  # fmt: skip


if __name__ == "__main__":
    target = command_line(__doc__).parse_args().json
    raise SystemExit(finish("board_models", "LeNet on an ULX3S 85F", measure(), target))
