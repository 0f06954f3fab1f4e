"""What an installed wheel must do, run outside the checkout by scripts/test-wheel.

``try_wheel.py WHEEL before`` without the headers of HLS C++: files, commands, the CPU, the engine in process,
what csim says, and the start page, which runs Verilator. ``try_wheel.py WHEEL after`` with them: csim.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np

import allo
from allo.errors import AlloError
from allo.ir.types import int32

# What the code opens by a path, one file for each folder of such files.
DATA = (
    "allo/py.typed",
    "allo/backend/py.typed",
    "allo/backend/runtime/simulator.hpp",
    "allo/backend/runtime/liballo_runtime.so",
    "allo/backend/runtime/liballo_interrupt.so",
    "allo/backend/runtime/liballo_regions.so",
    "allo/backend/hls/shims/",
    "allo/backend/hls/templates/",
    "allo/backend/sim/buses/cpp/",
    "allo/designs/llm/data/devices.toml",
)
HELP = "pip install --no-deps hls4ml"
LIMIT_S = 120


def add(a: int32[16], b: int32[16]) -> int32[16]:
    c: int32[16] = 0
    for i in range(16):
        c[i] = a[i] + b[i]
    return c


def missing_files(wheel: Path) -> list[str]:
    """The files and folders of ``DATA`` that the wheel lacks."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    return [
        want
        for want in DATA
        if not any(name.startswith(want) and not name.endswith("/") for name in names)
    ]


def faults_of_install(wheel: Path) -> list[str]:
    """What is wrong with where the package lies and what it says of itself."""
    faults = [f"the wheel lacks {name}" for name in missing_files(wheel)]
    if not Path(allo.__file__).is_relative_to(sys.prefix):
        faults.append(f"allo was imported from {allo.__file__}, not from {sys.prefix}")
    if metadata.version("allo") != allo.__version__:
        faults.append(f"the wheel is {metadata.version('allo')}, the package {allo.__version__}")
    return faults


def faults_of_command(command: list[str], said: str) -> list[str]:
    """Whether a command fails, or does not print what it must."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode == 0 and said in done.stdout:
        return []
    return [f"{' '.join(command)}: {done.stdout[-300:]}{done.stderr[-1000:]}"]


def faults_of_commands() -> list[str]:
    """What is wrong with the command line."""
    told = {"--help": "synth", "--version": allo.__version__, "version": "pycde"}
    return [f for option, said in told.items() for f in faults_of_command(["allo", option], said)]


def faults_of_targets(*targets: str) -> list[str]:
    """Targets on which the kernel gives other results than NumPy."""
    a, b = np.arange(16, dtype=np.int32), np.full(16, 7, np.int32)
    faults = []
    for target in targets:
        schedule = allo.customize(add)
        if target == "csim":
            result = np.zeros(16, np.int32)
            schedule.build(target="vhls")(a, b, result)
        elif target == "jit":
            result = schedule.build(target="verilog")(a, b, simulator="jit")
        else:
            result = schedule.build(target=target)(a, b)
        if not np.array_equal(result, a + b):
            faults.append(f"{target}: {result.tolist()}")
    return faults


def faults_without_headers() -> list[str]:
    """Whether csim says what to install where its headers are not there."""
    try:
        faults_of_targets("csim")
    except AlloError as error:
        return [] if HELP in str(error) else [f"csim without headers does not say {HELP}: {error}"]
    return ["csim ran without the headers that the page says it needs"]


def faults_of_page(page: Path) -> list[str]:
    """Whether the page's program runs, from its first step to its last, and then its commands."""
    import blocks

    text = page.read_text()
    found = blocks.blocks_of(text)
    fault = blocks.fault_of_run(page, found)
    change = next(block.text for block in found if block.text.startswith("def piped(s)"))
    Path("fir.py").write_text(f"{found[0].text}\n{change}")
    faults = []
    for command in re.findall(r"^allo build .*$", text, re.MULTILINE):
        faults += faults_of_command(command.split(), "")
        if not faults and "module fir" not in Path("fir.sv").read_text():
            faults.append(f"{command}: fir.sv holds no module fir")
    return [*faults, fault] if fault else faults


def main(wheel: str, when: str) -> int:
    """Try one half, print what is wrong; 1 if anything is."""
    if when == "before":
        faults = faults_of_install(Path(wheel)) + faults_of_commands()
        faults += faults_of_targets("llvm", "jit") + faults_without_headers()
        faults += faults_of_page(Path("start.md"))
    else:
        faults = faults_of_targets("csim")
    for fault in faults:
        print(f"test-wheel: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
