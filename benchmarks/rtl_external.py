"""A product of 4,096³ of 8-bit integers and a convolution of a 4K image, whose arrays do not fit on chip.

scripts/bench rtl_external

Both designs run behind AXI4 masters, each array on a channel of HBM2 of its own. A part of each is
simulated: 64 × 64 elements of the product at its whole depth of 4,096, and 18 rows of the image at its
whole width of 3,840 pixels of 8 channels. Its cycles, from start to interrupt, stand beside those that
are foretold (`mod.foretold`), on ideal channels and on banks (`timing="dram"`). The whole designs are
built, and their cycles foretold, not simulated. The bound is the larger of the cycles that the
multipliers need, and that the busiest channel needs for each byte once. Elements are compared with
NumPy's.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from allo.backend.sim import external_memory
from allo.designs.external import convolution, gemm
from benchmarks.harness import Row, command_line, finish

CLOCK = 300
LEAST, MOST_OFF = 0.9, 0.03
"""The share of the bound that a design must reach, and how far off its cycles may be foretold."""
TIMINGS = ("ideal", "dram")
PRODUCT = gemm.Size(4096, 4096, 4096, 16)
PART_OF_PRODUCT = replace(PRODUCT, rows=64, columns=64)
IMAGE = convolution.Size(2160, 3840, 8, 8)
PART_OF_IMAGE = replace(IMAGE, height=18)


def built(design: ModuleType, size: Any) -> Any:
    """A design behind masters; nothing is copied whole."""
    asked = {"kind": "m_axi", "copy": False}
    configs = {"interface": dict.fromkeys(design.ARRAYS, asked)}
    s = design.schedule(size)
    options = {"clock_mhz": CLOCK, "overlap_loops": False}
    return s.build(target="verilog", simulator="jit", configs=configs, **options)


def random_bytes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of 8 bits."""
    return rng.integers(-128, 128, shape).astype(np.int8)


def product(size: gemm.Size) -> tuple[list[np.ndarray], np.ndarray]:
    """The arguments of a product, and what it must give."""
    rng = np.random.default_rng(0)
    a, b = random_bytes(rng, size.rows, size.depth), random_bytes(rng, size.depth, size.columns)
    wanted = a.astype(np.int32) @ b.astype(np.int32)
    return [a, b, np.zeros_like(wanted)], wanted


def image(size: convolution.Size) -> tuple[list[np.ndarray], np.ndarray]:
    """The arguments of a convolution, and what it must give."""
    rng = np.random.default_rng(0)
    a = random_bytes(rng, size.height, size.width, size.channels)
    w = random_bytes(rng, size.filters, 3, 3, size.channels)
    h, v = size.height - 2, size.width - 2
    total = np.zeros((h, v, size.filters), np.int32)
    for r in range(3):
        for c in range(3):
            part = a[r : r + h, c : c + v].astype(np.int32)
            total += np.einsum("yxd,fd->yxf", part, w[:, r, c].astype(np.int32))
    wanted = (total >> 8).astype(np.int8)
    return [a, w, np.zeros_like(wanted)], wanted


def bound(design: ModuleType, size: Any, module: Any, mhz: float) -> float:
    """Cycles that the multipliers need, or the busiest channel for each byte once."""
    rate = external_memory("hbm2", clock_mhz=mhz)[0].bytes_per_cycle
    needed = max(array.bytes for array in module.design.board.arrays)
    return max(size.cycles, needed / rate)


def rows_of(name: str, design: ModuleType, sizes: tuple[Any, Any], draw: Any) -> list[Row]:
    """A part that is simulated, and the whole design that is foretold."""
    part, whole = sizes
    rows = []
    module = built(design, part)
    mhz = module.report.fmax_mhz
    for timing in TIMINGS:
        channels = external_memory("hbm2", clock_mhz=mhz, timing=timing)
        ran = module.variant(memory=dict(zip(design.ARRAYS, channels, strict=False)))
        arguments, wanted = draw(part)
        ran(*arguments)
        if not np.array_equal(arguments[-1], wanted):
            raise SystemExit(f"rtl_external: elements of {name} differ from NumPy's")
        told = ran.foretold.cycles
        off = abs(told / ran.cycles - 1)
        least = bound(design, part, module, mhz)
        note = f"{ran.cycles:,} cycles at an estimated {mhz:.0f} MHz, {told:,} foretold; bound {least:,.0f}"
        key = f"external.{name}.{timing}"
        figures = {f"{key}.cycles": ran.cycles, f"{key}.foretold.cycles": told}
        figures[f"{key}.share"] = round(100 * least / ran.cycles, 1)
        what = f"{name}, a part, {timing} channels"
        rows.append(Row(f"{what}: foretold", 100 * off, "% off", "limit", 100 * MOST_OFF, True))
        rows.append(Row(what, ran.cycles, "cycles", "bound", least / LEAST, True, note, figures))
    module = built(design, whole)
    mhz = module.report.fmax_mhz
    channels = external_memory("hbm2", clock_mhz=mhz)
    told = module.variant(memory=dict(zip(design.ARRAYS, channels, strict=False))).foretold
    least = bound(design, whole, module, mhz)
    figures = {f"external.{name}.whole.cycles": told.cycles}
    figures[f"external.{name}.whole.share"] = round(100 * least / told.cycles, 1)
    time = told.cycles / mhz / 1e3
    note = f"foretold, not simulated, at an estimated {mhz:.0f} MHz: {time:,.0f} ms\n{told}"
    what = f"{name}, whole, foretold"
    rows.append(Row(what, told.cycles, "cycles", "bound", least / LEAST, True, note, figures))
    return rows


def main() -> int:
    """Measure, print, write; 1 when a limit fails or an element is wrong."""
    target = command_line(__doc__).parse_args().json
    rows = rows_of("gemm", gemm, (PART_OF_PRODUCT, PRODUCT), product)
    rows += rows_of("convolution", convolution, (PART_OF_IMAGE, IMAGE), image)
    return finish(
        "rtl_external", "Arrays that do not fit on chip, from channels of HBM2", rows, target
    )


if __name__ == "__main__":
    sys.exit(main())
