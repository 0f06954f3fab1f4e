"""The models of ``designs/torch`` with their schedules: PyTorch's result after every step, the CPU's bits."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch

import allo
from allo.designs.torch import bert_block, gpt2_block, llama_block, mlp, resnet_block
from allo.errors import StepError
from allo.ir.types import float32, int32
from tests.figures_plugin import Held
from tests.torch.support import assert_close, check_csim, check_hardware, initialised, tensor

# A design, its model, and its steps.
DESIGNS: dict[str, tuple[Any, Any, int]] = {
    "mlp": (mlp, mlp.MLP, 8),
    "resnet_block": (resnet_block, resnet_block.ResNetBlock, 3),
    "bert_block": (bert_block, bert_block.BertBlock, 3),
    "llama_block": (llama_block, llama_block.LlamaBlock, 8),
    "gpt2_block": (gpt2_block, gpt2_block.GPT2Block, 22),
}


def sigmoid[B: int32, L: int32, D: int32](x: float32[B, L, D]) -> float32[B, L, D]:
    z: float32[B, L, D]
    for b, i, j in allo.grid(B, L, D):
        z[b, i, j] = x[b, i, j] / (1.0 + allo.exp(-1.702 * x[b, i, j]))
    return z


@pytest.mark.parametrize("name", DESIGNS)
def test_a_verified_schedule_makes_fast_hardware(name: str, tmp_path: Path, figures: Held) -> None:
    design, kind, steps = DESIGNS[name]
    model = initialised(kind())
    s = design.schedule(design.compiled(model, verify=True))
    assert len(s.steps) == steps
    x = tensor(*s.origin.example_inputs[0].shape)
    with torch.no_grad():
        assert_close(s.build()(x.numpy()), model(x), tolerance=1e-3)
    figures.hold(f"torch.{name}.scheduled.cycles", check_hardware(s, x).cycles)
    if name in ("mlp", "gpt2_block"):
        check_csim(s, tmp_path, x)


def test_the_schedule_of_the_gpt2_block_is_short() -> None:
    assert len(inspect.getsource(gpt2_block.schedule).splitlines()) <= 60


def test_a_wrong_kernel_in_the_gpt2_block_is_found() -> None:
    s = gpt2_block.compiled(initialised(gpt2_block.GPT2Block()), verify=True)
    s["attn"].pipeline()
    with pytest.raises(
        StepError, match=r'Step 2, s\["mlp.act"\].replace\(sigmoid\), changed the result'
    ):
        s["mlp.act"].replace(sigmoid)
    s["mlp.act"].replace(gpt2_block.gelu)
    assert [step.split("]")[1] for step in s.steps] == [".pipeline()", ".replace(gelu)"]
