"""Tells Python's ``importlib.metadata`` of this tree: ``write_metadata.py SITE``.

An installed wheel has a folder of metadata, by which other packages find Allo's entry points:
PyTorch finds the back end of ``torch.compile(model, backend="allo")`` there. The environment of
``scripts/setup`` imports Allo from this tree, so the folder is written from the project's file.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def write_metadata(site: Path) -> None:
    """Write the folder ``allo-VERSION.dist-info`` into an environment's ``site-packages``.

    Args:
        site: the folder ``site-packages``.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (version,) = re.findall(
        r'^__version__ = "(.+)"$', (ROOT / "allo/__init__.py").read_text(), re.M
    )
    for old in site.glob("allo-*.dist-info"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    folder = site / f"allo-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: allo\nVersion: {version}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {point}" for name, point in points.items()), ""]
    (folder / "entry_points.txt").write_text("\n".join(lines))


if __name__ == "__main__":
    write_metadata(Path(sys.argv[1]))
