"""Verified schedules: PyTorch's result after each step, and the step that changes it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn

import allo
from allo.dialects._mlir import ir
from allo.errors import HandleTypeError, ModelError, OptionError, ScheduleError, StepError
from allo.frontend import from_pytorch
from allo.ir.types import Fixed, float32
from tests.torch.support import initialised, tensor

X = tensor(2, 6)


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(6, 9)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(9, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.act(self.fc1(x)))


def leaky(x: float32[2, 9]) -> float32[2, 9]:
    z: float32[2, 9]
    for i, j in allo.grid(2, 9):
        z[i, j] = x[i, j] if x[i, j] > 0 else x[i, j] * 0.125
    return z


def compiled(**options: Any) -> Any:
    return from_pytorch(initialised(MLP()), [X], target="mlir", **options)


def test_the_step_that_changes_the_result_is_named_and_undone() -> None:
    s = compiled(verify=True)
    s["fc1"].pipeline("k1")
    s.pipeline("fc2:k1")
    before = str(s.module)
    with pytest.raises(StepError) as caught:
        s["act"].replace(leaky)  # the wrong one
    message = str(caught.value)
    assert 'Step 3, s["act"].replace(leaky), changed the result: element [0, 0] is ' in message
    assert re.search(
        r"PyTorch's is -?[\d.]+ \(8 of 8 elements differ by more than 0.0001\)", message
    )
    assert message.endswith("help: the schedule is as it was before this step.")
    place = caught.value.place
    assert place is not None and place.file == __file__ and "# the wrong one" in place.excerpt()
    assert str(s.module) == before
    assert s.steps == ['s["fc1"].pipeline("k1")', 's.pipeline("fc2:k1")']
    s["fc2"].unroll("o0")
    assert s.steps[2] == 's["fc2"].unroll("o0")'


def test_a_primitive_on_the_schedule_itself_is_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    @allo.schedule.register_primitive
    def spoil(s: allo.schedule.ScheduleState) -> None:
        """Forget the biases: a fault for this test."""
        for op in s.module.body.operations:
            if op.operation.name == "memref.global" and "bias" in str(op.attributes["sym_name"]):
                kind = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
                tensors = ir.RankedTensorType.get(kind.shape, kind.element_type)
                zero = ir.FloatAttr.get(kind.element_type, 0.0)
                op.attributes["initial_value"] = ir.DenseElementsAttr.get_splat(tensors, zero)

    s = compiled()
    s.verify_steps()
    s.pipeline("fc1:k1")
    with pytest.raises(StepError, match=r"Step 2, s.spoil\(\), changed the result"):
        s.spoil()
    monkeypatch.delattr(allo.schedule.Schedule, "spoil")
    assert len(s.primitive_sequences) == 1


def test_without_verification_nothing_is_compared() -> None:
    s = compiled(verify=True)
    s.verify_steps(False)
    s["act"].replace(leaky)
    assert s.steps == ['s["act"].replace(leaky)']
    with pytest.raises(
        ModelError, match="The design differs from PyTorch before any step: element"
    ):
        s.verify_steps()


def test_types_that_round_need_a_tolerance() -> None:
    types = {"default": Fixed(20, 10)}
    with pytest.raises(ModelError, match="give the tolerance that they need, such as verify=0.01"):
        compiled(op_dtypes=types, verify=True)
    s = compiled(op_dtypes=types, verify=0.1)
    s["**"].pipeline()
    assert len(s.steps) == 1


def test_a_tolerance_is_a_positive_number_and_a_path_a_text() -> None:
    with pytest.raises(OptionError, match="verify is 'yes', and neither a truth value nor a tol"):
        compiled(verify="yes")
    s = compiled()
    with pytest.raises(OptionError, match="verify is -1, and neither"):
        s.verify_steps(-1)
    with pytest.raises(
        HandleTypeError, match=r"A module path is a text such as 'blocks.\*.mlp', not 0"
    ):
        s[0]


def test_a_refused_primitive_is_no_step() -> None:
    s = compiled(verify=True)
    with pytest.raises(ScheduleError, match="No such loop 'z'"):
        s.pipeline("fc1:z")
    assert s.steps == []


def test_results_that_are_integers_or_scalars_are_compared() -> None:
    class Chosen(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x.argmax(1), x.sum()

    s = from_pytorch(Chosen(), [X], target="mlir", verify=True)
    s["**"].pipeline()
    assert s.steps == ['s["**"].pipeline()']
