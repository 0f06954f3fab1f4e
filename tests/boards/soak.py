"""Many calls of a simulated board over a line that flips, loses and doubles bytes, with resets in the middle.

A call may be right or refused by name with its arguments as before; anything else is counted as wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np

import allo
from allo.boards import connect, simulate
from allo.errors import LineError
from allo.ir.types import int8, int32

RESET_EVERY = 97
PATIENCE_S = 0.05


def scaled(A: int8[16, 8], B: int8[8], C: int32[16], gain: int32) -> int32:
    last: int32 = 0
    for i in range(16):
        sum: int32 = C[i]
        for j in range(8):
            sum += A[i, j] * B[j]
        last = sum * gain
        C[i] = last
    return last


def soak(calls: int, rate: int, seed: int) -> dict[str, int]:
    """How many of so many calls were right, refused by name, and wrong.

    Args:
        rate: errors of each kind in a million bytes.
    """
    schedule = allo.customize(scaled)
    module, cpu = schedule.build(target="verilog", clock_mhz=100, device="ecp5"), schedule.build()
    rng = np.random.default_rng(seed)
    told: Counter[str] = Counter()
    count = Counter(right=0, refused=0, wrong=0)
    with simulate(module) as port:
        port.errors(flip=rate, lose=rate, double=rate, seed=seed)
        device = None
        for number in range(calls):
            A, B = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((16, 8), 8))
            C, gain = rng.integers(-1000, 1000, 16, dtype=np.int32), int(rng.integers(-9, 9))
            before, expected = C.copy(), C.copy()
            last = cpu(A, B, expected, gain)
            aside = None
            if number % RESET_EVERY == RESET_EVERY // 2:
                aside = threading.Timer(float(rng.uniform(0, 0.008)), port.press_reset)
                aside.start()
            try:
                device = device or connect(port, module, patience=PATIENCE_S)
                found = device(A, B, C, gain)
                right = found == last and np.array_equal(C, expected)
                count["right" if right else "wrong"] += 1
            except LineError as error:
                told[error.message] += 1
                count["refused" if np.array_equal(C, before) else "wrong"] += 1
                if device is not None:
                    device.close()
                device = None
            if aside is not None:
                aside.join()
        if device is not None:
            device.close()
    return {**count, **told}


def main() -> int:
    """The command ``scripts/soak-board``; 1 where a call was wrong in silence."""
    parser = argparse.ArgumentParser(prog="scripts/soak-board", description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument(
        "--rate", type=int, default=300, help="errors of each kind in a million bytes"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default="out/soak_board.json", help="file for the figures")
    options = parser.parse_args()
    found = soak(options.calls, options.rate, options.seed)
    figures = {**vars(options), **found}
    Path(options.json).parent.mkdir(parents=True, exist_ok=True)
    Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    sys.stdout.write("".join(f"{value:>8}  {name}\n" for name, value in figures.items()))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
