"""Write a hardware design as a folder that stands on its own."""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.export.modules import module_files
from allo.dialects.diagnostics import BuildError, ToolFailedError, ToolMissingError
from allo.dialects.reports.project_folder import write_folder

from ..engines.verilator.tools import find_verilator
from .source_map import source_map

MARK = "allo_project.json"
FILES = "files.f"
"""The list of the Verilog files, which simulators take with ``-f``."""


def write_project(design: HardwareDesign, folder: Path, *, split: bool = False) -> Path:
    """Write ``folder``: Verilog, report, source map, lint script.

    With ``split``, each module has a file of its own, and ``files.f`` lists them.

    The folder is written beside its final place and renamed, so that a failure leaves an
    existing one as it was. An existing folder is replaced only when Allo wrote it.

    Raises:
        BuildError: when the folder exists and holds something else, or cannot be written.
    """
    folder = own_folder(folder, "project")
    write_folder(folder, _files(design, split), merge=False, programs=["run.sh"])
    return folder


def own_folder(folder: Path, option: str) -> Path:
    """The whole path of a folder that Allo may write, as ``option`` names it.

    Raises:
        BuildError: the folder exists and holds something else.
    """
    folder = folder.absolute()
    if _is_foreign(folder):
        raise BuildError(
            f"{folder} exists and was not written by Allo.",
            help=f"choose another {option}= folder, or remove this one.",
        )
    return folder


def _is_foreign(folder: Path) -> bool:
    """Whether a folder holds something that Allo did not write."""
    try:
        return folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).exists()
    except OSError:
        return False


def _files(design: HardwareDesign, split: bool) -> dict[str, str]:
    design.estimate_resources()
    report = design.report
    sources = {f"{design.top}.sv": design.verilog}
    if split:
        sources = module_files(design.verilog)
    return {
        **sources,
        FILES: "".join(f"{name}\n" for name in sources),
        f"{design.top}.mlir": design.hw_text,
        "report.json": json.dumps(report.to_json(), indent=1),
        "report.txt": report.table(),
        "report.html": report.html(),
        "source_map.json": json.dumps(source_map(design), indent=1),
        "run.sh": run_script(design.top),
        MARK: json.dumps({"top": design.top, "target": report.target}),
    }


def run_script(top: str) -> str:
    """A shell script that checks the Verilog, with Verilator where this machine has it or another."""
    return _RUN.format(top=top, verilator=verilator_for_scripts())


def verilator_for_scripts() -> str:
    """The shell function ``run_verilator``: $VERILATOR, that on PATH, or the one this machine has now."""
    here = "verilator"
    with contextlib.suppress(ToolMissingError, ToolFailedError):
        found = find_verilator()
        here = f"VERILATOR_ROOT={shlex.quote(str(found.root))} {shlex.quote(str(found.program))}"
    return _VERILATOR.format(here=here)


_VERILATOR = """\
run_verilator() {{
    if [ -n "${{VERILATOR:-}}" ]; then
        "$VERILATOR" "$@"
    elif command -v verilator > /dev/null; then
        verilator "$@"
    else # the one this project was written with
        {here} "$@"
    fi
}}
"""

_RUN = """\
#!/bin/sh
# Check the Verilog of {top} with Verilator, and with Yosys where it is installed.
set -e
cd "$(dirname "$0")"
{verilator}run_verilator --lint-only -Wall --top-module {top} -f files.f
echo "{top}.sv: Verilator reads it without a warning."
if command -v yosys > /dev/null; then
    yosys -q -p "read_verilog -sv {top}.sv; synth -top {top}; stat"
fi
"""
