"""Write a hardware design as a folder that stands on its own."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from allo.dialects.diagnostics import BuildError

if TYPE_CHECKING:
    from .module import RTLModule

MARK = "allo_project.json"


def write_project(module: RTLModule, folder: Path) -> Path:
    """Write ``folder``: Verilog, report, source map, lint script.

    The folder is written beside its final place and renamed, so that a failure leaves an
    existing one as it was. An existing folder is replaced only when Allo wrote it.

    Raises:
        BuildError: when the folder exists and holds something else.
    """
    folder = folder.absolute()
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise BuildError(
            f"{folder} exists and was not written by Allo.",
            help="choose another project= folder, or remove this one.",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        for name, text in _files(module).items():
            (new / name).write_text(text)
        (new / "run.sh").chmod(0o755)
        new.chmod(0o755)
        _swap(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return folder


def _swap(new: Path, folder: Path) -> None:
    if not folder.exists():
        os.rename(new, folder)
        return
    old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    os.rename(folder, old / "old")
    try:
        os.rename(new, folder)
    except OSError:
        os.rename(old / "old", folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _files(module: RTLModule) -> dict[str, str]:
    design = module.design
    report = design.report
    return {
        f"{design.top}.sv": design.verilog,
        f"{design.top}.mlir": design.hw_text,
        "report.json": json.dumps(report.to_json(), indent=1),
        "report.txt": report.table(),
        "report.html": report.html(),
        "source_map.json": json.dumps(design.debug, indent=1),
        "run.sh": _RUN.format(top=design.top),
        MARK: json.dumps({"top": design.top, "target": report.target}),
    }


_RUN = """\
#!/bin/sh
# Check the Verilog of {top} with Verilator, and with Yosys where it is installed.
set -e
cd "$(dirname "$0")"
verilator --lint-only -Wno-lint -Wno-style --top-module {top} {top}.sv
echo "{top}.sv: Verilator reads it."
if command -v yosys > /dev/null; then
    yosys -q -p "read_verilog -sv {top}.sv; synth -top {top}; stat"
fi
"""
