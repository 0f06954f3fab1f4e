"""``allo network --project``: files for a board, and the host program on an emulated one."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from allo.cli import main
from allo.cli.network_project import write_project
from allo.errors import BoardError
from allo.frontend import from_qonnx
from tests.boards.vendor.emulator import Machine, pynq_module

from .support import Network, Pair

BATCH = 2


def small() -> Any:
    rng = np.random.default_rng(0)
    net = Network()
    x = net.quant(net.input(1, 6), 0.25, 4)
    weights = net.quant(net.constant(rng.normal(0, 1, (6, 3))), 0.5, 3)
    return net.model(net.quant(net("MatMul", x, weights), 0.5, 5))


def loaded(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A program of a project as a module."""
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "driver", raising=False)
    spec = importlib.util.spec_from_file_location(f"allo_test_{name}", folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_host_streams_batches_through_the_emulated_board(tmp_path, monkeypatch, capsys) -> None:
    model, folder = small(), tmp_path / "prj"
    schedule = from_qonnx(model, target="mlir", samples=BATCH)
    module = write_project(schedule, "pynq-z2", folder)
    found = json.loads((folder / "design.json").read_text())
    monkeypatch.setitem(sys.modules, "pynq", pynq_module(Machine(module), found["cell"]))
    host = loaded(folder, "batches", monkeypatch)
    x = np.random.default_rng(1).normal(0, 1, (5, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(
        sys, "argv", ["batches.py", str(tmp_path / "x.npy"), "-o", str(tmp_path / "y.npy")]
    )
    host.main()
    assert "5 samples in" in capsys.readouterr().out
    pair = Pair(model)
    expected = np.stack([pair.expected(one[None])[0] for one in x])
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)
    with pytest.raises(host.DesignError, match="has the shape"):
        host.stream(host.Design(), [x[:, :4]])
    with pytest.raises(host.DesignError, match="1 inputs, not 2"):
        host.stream(host.Design(), [x, x])


def test_the_command_writes_the_project(tmp_path, capsys) -> None:
    file, folder = tmp_path / "small.onnx", tmp_path / "prj"
    onnx.save(small(), str(file))
    main(["network", str(file), "--project", str(folder), "--batch", "3"])
    names = {path.name for path in folder.iterdir()}
    assert {"package.tcl", "block_design.tcl", "driver.py", "batches.py", "design.json"} <= names
    described = json.loads((folder / "design.json").read_text())
    assert described["arguments"][0]["shape"] == [3, 1, 6]
    assert "3 samples a call on pynq-z2" in capsys.readouterr().out


def test_a_board_without_shared_memory_is_refused(tmp_path) -> None:
    with pytest.raises(BoardError, match="no memory that a host and a network share(?s:.*)pynq-z2"):
        write_project(None, "icebreaker", tmp_path)
