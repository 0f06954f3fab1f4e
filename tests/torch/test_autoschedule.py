"""``allo.autoschedule`` of a model: right in hardware, its script makes it again, and a part is a part."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

import allo
from allo.frontend import from_pytorch
from allo.schedule.handles import LoopWrapper

QUICK: dict[str, Any] = {
    "max_dsp": 16, "clock_mhz": 300.0, "reassociate": True, "subnormals": "flush", "cache": False,
    "seconds": 4.0, "timer": time.process_time,
}  # fmt: skip


def model() -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    return net, torch.randn(2, 8)


def test_a_model_is_scheduled_and_its_script_makes_it_again() -> None:
    net, x = model()
    given = from_pytorch(net, [x], target="mlir", library=False)
    found = allo.autoschedule(given, **QUICK)
    hardware = found.build(target="verilog", simulator="jit", clock_mhz=300.0, subnormals="flush")
    got = hardware(x.numpy())
    assert got.tobytes() == found.build(subnormals="flush")(x.numpy()).tobytes()
    assert np.abs(got - net(x).detach().numpy()).max() < 1e-5
    assert hardware.cycles == found.trace.cycles
    assert found.trace.cycles < found.trace.plain
    names: dict[str, Any] = {}
    exec(found.script(), names)
    again = names["schedule"](from_pytorch(net, [x], target="mlir", library=False))
    assert str(again.module) == str(found.module)


def test_a_module_path_is_a_part() -> None:
    net, x = model()
    given = from_pytorch(net, [x], target="mlir", library=False)
    found = given.autoschedule("2", **QUICK)
    touched = {
        value.func
        for _, arguments, _ in found.primitive_sequences
        for value in arguments
        if isinstance(value, LoopWrapper)
    }
    assert touched == {"linear_2"}
