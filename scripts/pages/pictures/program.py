"""Writes the pictures of the documentation: ``python -m scripts.pages.pictures.program [NAME ...]``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from . import banks, floor, networks, pipeline

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "pictures"
PICTURES: Mapping[str, Callable[[], str]] = {
    "pipeline": pipeline.pipelined,
    "recurrence": pipeline.recurrence,
    "banks": banks.partitions,
    "array": networks.array,
    "transformer": networks.transformer,
    "floor": floor.transformer,
}


def main(names: list[str]) -> int:
    """Draw each picture and say which."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or PICTURES:
        print(f"drawing docs/pictures/{name}.svg", flush=True)
        (FOLDER / f"{name}.svg").write_text(PICTURES[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
