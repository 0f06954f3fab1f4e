"""Whole models of a small width: PyTorch's values on the CPU, the CPU's bits in hardware and in C++."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from allo.frontend import from_pytorch
from tests.torch.models import (
    BertBlock,
    Gpt,
    GptBlock,
    LeNet,
    Llama,
    LlamaBlock,
    MobileBlock,
    ResNet18,
    ResNetBlock,
)
from tests.torch.support import assert_close, check, check_csim, check_hardware, tensor

Made = Callable[[], tuple[nn.Module, torch.Tensor]]

MODELS: dict[str, Made] = {
    "lenet": lambda: (LeNet(), tensor(1, 1, 8, 8)),
    "resnet_block": lambda: (ResNetBlock(), tensor(1, 3, 6, 6)),
    "mobile_block": lambda: (MobileBlock(), tensor(1, 4, 5, 5)),
    "bert_block": lambda: (BertBlock(), tensor(1, 4, 8)),
    "gpt_block": lambda: (GptBlock(), tensor(1, 5, 8)),
    "gpt": lambda: (Gpt(), torch.tensor([[3, 0, 10, 7, 7]])),
    "llama_block": lambda: (LlamaBlock(), tensor(1, 4, 8)),
    "llama": lambda: (Llama(), torch.tensor([[3, 0, 10, 7]])),
}


@pytest.mark.parametrize("name", MODELS)
def test_all_targets_agree(name: str, tmp_path: Path) -> None:
    model, x = MODELS[name]()
    s = check(model, x)
    check_hardware(s, x)
    check_csim(s, tmp_path, x)


@pytest.mark.parametrize("name", ["lenet", "gpt"])
def test_weights_as_arguments_give_the_same(name: str) -> None:
    model, x = MODELS[name]()
    s = check(model, x, weights_as_args=True)
    check_hardware(s, x)


def test_a_whole_resnet_18() -> None:
    torch.manual_seed(0)
    model, image = ResNet18().eval(), tensor(1, 3, 32, 32)
    s = from_pytorch(model, [image], target="mlir", weights_as_args=True)
    with torch.no_grad():
        assert_close(s.build()(image.numpy(), *s.weight_data), model(image))
    shared = dict(model.named_parameters())["fc.weight"].detach().numpy()
    assert any(np.shares_memory(w, shared) for w in s.weight_data)


def test_the_hierarchy_of_the_model_is_that_of_the_design() -> None:
    s = check(*MODELS["gpt"]())
    assert {p for p in s.module_paths.values() if p.startswith("h.1")} == {
        "h.1",
        "h.1.ln_1",
        "h.1.attn",
        "h.1.attn.qkv",
        "h.1.attn.proj",
        "h.1.ln_2",
        "h.1.mlp",
        "h.1.mlp.0",
        "h.1.mlp.1",
        "h.1.mlp.2",
    }
    assert s.module_paths["h_1_attn_qkv"] == "h.1.attn.qkv"
    body = s.source.split("def h_1(")[1].split("\ndef ")[0]
    for name in ("h_1_ln_1", "h_1_attn", "h_1_ln_2", "h_1_mlp"):
        assert body.count(f"= {name}(") == 1


def test_a_module_that_computes_nothing_is_no_function() -> None:
    s = check(*MODELS["lenet"]())
    assert list(s.module_paths) == [
        "conv1",
        "bn",
        "pool",
        "conv2",
        "average",
        "fc1",
        "fc2",
        "forward",
    ]


def test_a_batch_norm_is_folded() -> None:
    s = check(*MODELS["lenet"]())
    with s.context:
        text = str(s.module).split("func.func @bn(")[1].split("func.func")[0]
    assert "math.sqrt" not in text and "arith.divf" not in text
    assert text.count("arith.mulf") == text.count("arith.addf") == 1
