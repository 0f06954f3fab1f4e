"""A test bench as a folder that stands on its own: design, test bench, vectors, and how to run it."""

from __future__ import annotations

import json
from pathlib import Path

from allo.backend.rtl.design import HardwareDesign
from allo.dialects.reports.project_folder import write_folder

from ..boundary.project import FILES, MARK, own_folder, verilator_for_scripts
from .bench import BenchWriter
from .vectors import Vectors


def write_testbench(design: HardwareDesign, vectors: Vectors, folder: Path) -> Path:
    """Write a test bench with its design into ``folder``, all or nothing.

    Raises:
        BuildError: the folder holds what Allo did not write, or cannot be written.
    """
    folder = own_folder(folder, "path")
    bench = BenchWriter(design, vectors).write()
    files = {
        f"{design.top}.sv": design.verilog,
        f"{bench.name}.sv": bench.text,
        **bench.data,
        FILES: f"{design.top}.sv\n{bench.name}.sv\n",
        "run.sh": _RUN.format(
            top=design.top, bench=bench.name, files=FILES, verilator=verilator_for_scripts()
        ),
        MARK: json.dumps({"top": design.top, "testbench": bench.name, "cycles": vectors.cycles}),
    }
    write_folder(folder, files, merge=False, programs=["run.sh"])
    return folder


_RUN = """\
#!/bin/sh
# Runs the test bench of {top} with Verilator, or with Icarus Verilog: ./run.sh [verilator | icarus]
set -e
cd "$(dirname "$0")"
objects=obj_dir
case "$PWD" in
*[!A-Za-z0-9_./+@,~-]*) # GNU Make, which Verilator calls, cannot build in such a folder
    objects=$(mktemp -d)
    trap 'rm -rf "$objects"' EXIT
    ;;
esac
{verilator}case "${{1:-verilator}}" in
verilator)
    run_verilator --binary --timing -j 0 --top-module {bench} -Mdir "$objects" \\
        -CFLAGS "-std=c++20 -fcoroutines" -MAKEFLAGS PYTHON3=python3 -f {files}
    "$objects/V{bench}"
    ;;
icarus)
    iverilog -g2012 -s {bench} -o {bench}.vvp -f {files}
    vvp -n {bench}.vvp
    ;;
*)
    echo "run.sh takes verilator or icarus, not $1" >&2
    exit 2
    ;;
esac
"""
