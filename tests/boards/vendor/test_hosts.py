"""Programs for hosts on an emulated board, whose device is the simulated wrapper, against the CPU build."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from allo import boards
from allo.backend.sim.engines.verilator.tools import find_compiler
from tests.boards.vendor.designs import built, drawn
from tests.boards.vendor.emulator import Machine, pynq_module, pyxrt_module
from tests.interfaces.kernels import same

XRT = Path(__file__).with_name("xrt")
KERNELS = {"pynq-z2": "summed", "u280": "gathered"}


def project(board: str, folder: Path, prefix: str = "") -> tuple[Any, Any, dict[str, Any]]:
    """A module, its CPU build, and what its project in ``folder`` says of it."""
    module, cpu = built(prefix + KERNELS[board], board)
    boards.project(module, folder)
    return module, cpu, json.loads((folder / "design.json").read_text())


def driver_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, board: str, machine: Machine, found: Any
):
    fake = (
        pynq_module(machine, found["cell"]) if board == "pynq-z2" else pyxrt_module(machine, found)
    )
    monkeypatch.setitem(sys.modules, "pynq" if board == "pynq-z2" else "pyxrt", fake)
    return loaded(folder)


def loaded(folder: Path) -> Any:
    """The driver of a project as a module."""
    spec = importlib.util.spec_from_file_location("allo_test_driver", folder / "driver.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("prefix", ["", "spread "])
@pytest.mark.parametrize("board", KERNELS)
def test_the_driver_gives_what_the_cpu_gives(board, prefix, tmp_path, monkeypatch) -> None:
    module, cpu, found = project(board, tmp_path, prefix)
    driver = driver_of(tmp_path, monkeypatch, board, Machine(module), found)
    design = driver.Design()
    for seed in range(3):
        given = drawn(seed)
        mine, theirs = ([np.copy(v) if np.ndim(v) else v for v in given] for _ in range(2))
        result, expected = design(*mine), cpu(*theirs)
        assert same(result, expected), (result, expected)
        for number, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            assert same(a, b), f"argument {number}: {a} {b}"
    for wrong, said in (
        ([*given[:-1]], "takes 7 arguments, not 6"),
        ([given[0], given[1].astype(np.int32), *given[2:]], "A is an array of <i2"),
        ([given[0], given[1].T.copy(), *given[2:]], r"A has the shape \(4, 5\), not \(5, 4\)"),
        ([given[1], *given[1:]], "k is a scalar, not an array"),
    ):
        with pytest.raises(driver.DesignError, match=said):
            design(*wrong)


def test_a_run_that_fails_is_told(tmp_path, monkeypatch) -> None:
    module, _, found = project("pynq-z2", tmp_path)
    machine = Machine(module)
    driver = driver_of(tmp_path, monkeypatch, "pynq-z2", machine, found)
    design = driver.Design(seconds=0.05)
    machine.registers[found["bus_error"]] = 1
    with pytest.raises(driver.DesignError, match="answered a burst of the run with an error"):
        design(*drawn(0))
    monkeypatch.setattr(machine, "_run", lambda: None)
    with pytest.raises(driver.DesignError, match="The run has not ended after 0.05 s"):
        design(*drawn(0))


@pytest.mark.parametrize("forgotten", ["sync_to_device", "sync_from_device"])
def test_the_emulated_board_sees_what_is_not_synchronised(forgotten, tmp_path, monkeypatch) -> None:
    module, cpu, found = project("pynq-z2", tmp_path)
    driver = (tmp_path / "driver.py").read_text()
    assert driver.count(f"buffer.{forgotten}()") == 1
    (tmp_path / "driver.py").write_text(driver.replace(f"buffer.{forgotten}()", "pass"))
    changed = driver_of(tmp_path, monkeypatch, "pynq-z2", Machine(module), found)
    mine, theirs = drawn(1), drawn(1)
    changed.Design()(*mine)
    cpu(*theirs)
    assert not same(mine[3], theirs[3])


@pytest.mark.parametrize("prefix", ["", "spread "])
def test_the_host_in_c_gives_what_the_cpu_gives(prefix, tmp_path) -> None:
    module, cpu, found = project("u280", tmp_path, prefix)
    subprocess.run(
        [str(find_compiler()), "-std=c++17", "-Wall", "-Werror", f"-I{XRT}", "-o", "host", "xrt_host.cpp"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    machine = Machine(module)
    board = pyxrt_module(machine, found)
    given, theirs = drawn(5), drawn(5)
    expected = cpu(*theirs)
    packing = loaded(tmp_path)
    every = [*found["arguments"], *found["results"]]
    values = [*given, np.zeros(5, np.int32)]
    for argument, value in zip(every, values, strict=True):
        data = packing.to_bytes(argument, np.asarray(value, argument["dtype"]).reshape(-1))
        size = 4 * -(-argument["width"] // 32)
        (tmp_path / f"{argument['name']}.bin").write_bytes(
            data if argument["shape"] is not None else data.ljust(size, b"\0")
        )
    serve(tmp_path, board)
    left = [
        packing.from_bytes(a, (tmp_path / f"{a['name']}.bin").read_bytes())
        for a in every
        if a["shape"]
    ]
    wanted = [*(v for v in theirs if np.ndim(v)), expected]
    assert all(same(a, b) for a, b in zip(left, wanted, strict=True))


def test_each_piece_of_an_array_is_an_argument_of_the_kernel(tmp_path, monkeypatch) -> None:
    """Its register, its master and its channel; a driver that deals lines otherwise is seen."""
    module, cpu, found = project("u280", tmp_path, "spread ")
    kernel, link = ((tmp_path / name).read_text() for name in ("kernel.xml", "link.cfg"))
    for part, channel in (("A", 0), ("A_part1", 1), ("A_part2", 2), ("A_part3", 3)):
        assert f'<arg name="{part}" addressQualifier="1"' in kernel
        assert f"sp=gathered_ip_1.m_axi_hbm{channel}:HBM[{channel}]\n" in link
    text = (tmp_path / "driver.py").read_text()
    (tmp_path / "driver.py").write_text(
        text.replace("lines[n::count]", "lines[-1 - n :: -count][::-1]")
    )
    changed = driver_of(tmp_path, monkeypatch, "u280", Machine(module), found)
    mine, theirs = drawn(1), drawn(1)
    assert not same(changed.Design()(*mine), cpu(*theirs))


def serve(folder: Path, board: Any) -> None:
    """Run the host; the stub of XRT asks for each run by files and two pipes."""
    for name in ("go", "done"):
        os.mkfifo(folder / name)

    def device() -> None:
        with open(folder / "go") as go, open(folder / "done", "w") as done:
            if go.readline().strip() != "run":
                return
            run = board.run(board.kernel(None, "", (folder / "kernel").read_text()))
            buffers = []
            for file in sorted(folder.glob("*.arg"), key=lambda f: int(f.stem)):
                kind, data = file.read_bytes()[:1], file.read_bytes()[1:]
                if kind == b"v":
                    run.set_arg(int(file.stem), int.from_bytes(data, "little"))
                    continue
                buffer = board.bo(None, len(data), board.bo.normal, 100 + int(file.stem))
                buffer.write(data, 0)
                buffer.sync(board.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, len(data), 0)
                run.set_arg(int(file.stem), buffer)
                buffers.append((file, buffer, len(data)))
            run.start()
            for file, buffer, size in buffers:
                buffer.sync(board.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE, size, 0)
                file.write_bytes(b"b" + buffer.read(size, 0).tobytes())
            done.write("done\n")

    thread = threading.Thread(target=device, daemon=True)
    thread.start()
    done = subprocess.run(
        ["./host", "gathered_ip.xclbin"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    thread.join(10)
