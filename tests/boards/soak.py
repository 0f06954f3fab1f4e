"""Many calls of a simulated board over a line that flips, loses and doubles bytes, with resets in the middle.

A call may be right or refused by name with its arguments as before; anything else is counted as wrong.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from allo.boards import connect, simulate
from allo.dialects.options.common import LINKS
from allo.errors import LineError

from .soaked import DESIGNS

RESET_EVERY = 97


def soak(
    calls: int, rate: int, seed: int, design: str = "arrays", link: str = "uart"
) -> dict[str, int]:
    """How many of so many calls were right, refused by name, and wrong.

    Args:
        rate: errors of each kind in a million bytes.
        design: a name of :data:`~.soaked.DESIGNS`.
        link: how bytes come to the board: ``"uart"`` or ``"fifo245"``.
    """
    subject = DESIGNS[design](link)
    rng = np.random.default_rng(seed)
    told: Counter[str] = Counter()
    count = Counter(right=0, refused=0, wrong=0)
    with simulate(subject.module) as port:
        port.errors(flip=rate, lose=rate, double=rate, seed=seed)
        device = None
        for number in range(calls):
            if device is None:
                subject.begin()
            given, expected, result = subject.draw(rng)
            before = copy.deepcopy(given)
            aside = None
            if number % RESET_EVERY == RESET_EVERY // 2:
                aside = threading.Timer(float(rng.uniform(0, 0.008)), port.press_reset)
                aside.start()
            try:
                device = device or connect(port, subject.module, patience=subject.patience)
                found = device(*given)
                right = found == result and _same(given, expected)
                count["right" if right else "wrong"] += 1
            except LineError as error:
                told[error.message] += 1
                count["refused" if _same(given, before) else "wrong"] += 1
                if device is not None:
                    device.close()
                device = None
            if aside is not None:
                aside.join()
        if device is not None:
            device.close()
    return {**count, **told}


def _same(found: list[Any], expected: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def main() -> int:
    """The command ``scripts/soak-board``; 1 where a call was wrong in silence."""
    parser = argparse.ArgumentParser(prog="scripts/soak-board", description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument(
        "--rate", type=int, default=300, help="errors of each kind in a million bytes"
    )
    parser.add_argument("--design", choices=DESIGNS, default="arrays")
    parser.add_argument("--link", choices=LINKS, default="uart")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default="out/soak_board.json", help="file for the figures")
    options = parser.parse_args()
    found = soak(options.calls, options.rate, options.seed, options.design, options.link)
    figures = {**vars(options), **found}
    Path(options.json).parent.mkdir(parents=True, exist_ok=True)
    Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    sys.stdout.write("".join(f"{value:>8}  {name}\n" for name, value in figures.items()))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
