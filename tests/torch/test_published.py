"""Programs as the published language has them: its parameters, modules, functions and methods."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import allo
from allo.ir.types import float16, float32
from tests.torch.support import initialised, tensor


def run(model: nn.Module, *example_inputs: torch.Tensor, **options: Any) -> Any:
    """The way published programs compile, call and compare."""
    model = initialised(model)
    model.eval()
    golden = model(*example_inputs)
    np_inputs = [x.detach().numpy() for x in example_inputs]
    llvm_mod = allo.frontend.from_pytorch(model, example_inputs=list(example_inputs), **options)
    golden_np = golden.detach().numpy()
    res = llvm_mod(*np_inputs)
    np.testing.assert_allclose(res, golden_np, atol=1e-3)
    return llvm_mod


class Toy(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x + y
        x = x.relu()
        return x * 2 - y / 4


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear1 = nn.Linear(10, 8)
        self.dropout = nn.Dropout(0.1)
        self.linear2 = nn.Linear(8, 4)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        out = F.relu(self.linear1(data))
        return F.relu(self.linear2(self.dropout(out)))


class CoreAttention(nn.Module):
    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.heads, self.depth = heads, width // heads

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = self.split(q), self.split(k), self.split(v)
        k = k.permute(0, 1, 3, 2)
        scores = torch.matmul(q, k) / math.sqrt(self.depth)
        mask = torch.tril(torch.ones(q.shape[2], q.shape[2]))
        scores = scores * mask + (mask - 1.0) * 1e4
        mixed = torch.matmul(F.softmax(scores, dim=-1), v)
        return mixed.permute(0, 2, 1, 3).contiguous().view(q.shape[0], q.shape[2], -1)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, self.depth).transpose(1, 2)


class KVCache(nn.Module):
    """Keys or values of the past, and those of now."""

    def forward(self, past: torch.Tensor, now: torch.Tensor) -> torch.Tensor:
        return torch.cat([past, now], dim=1)


class Block(nn.Module):
    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)
        self.v = nn.Linear(width, width)
        self.attn = CoreAttention(heads, width)
        self.ln1 = nn.LayerNorm(width)
        self.ln2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.gelu = nn.GELU()
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.ln1(x + self.attn(self.q(x), self.k(x), self.v(x)))
        return self.ln2(x + self.down(self.gelu(self.up(x))))


class Decoder(nn.Module):
    """One step with a cache."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = KVCache()
        self.k = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, past: torch.Tensor) -> torch.Tensor:
        keys = self.cache(past, self.k(x))
        return torch.matmul(x, keys.transpose(-2, -1)).reshape(1, -1)


class SliceClsToken(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, 0, :]


class Particles(nn.Module):
    """A class token in front of the particles, as the particle transformer has it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(5)
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.block = Block()
        self.first = SliceClsToken()
        self.head = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.embed(x))
        x = torch.cat([self.token.repeat(2, 1, 1), x], dim=1)
        return F.log_softmax(self.head(self.first(self.block(x))), dim=-1)


class CNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 3, kernel_size=3, stride=1, padding=1)
        self.bn1 = nn.BatchNorm2d(3)
        self.relu = nn.ReLU()
        self.pool1 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.conv2 = nn.Conv2d(3, 4, kernel_size=3)
        self.pool2 = nn.AvgPool2d(kernel_size=2, stride=2)
        self.fc = nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool1(self.relu(self.bn1(self.conv1(x))))
        x = self.pool2(F.relu(self.conv2(x)))
        return F.linear(x.view(x.size(0), -1), self.fc.weight, self.fc.bias)


class Functions(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.add(x, torch.ones(3, 4)) + torch.zeros(3, 4)
        y = torch.sub(torch.mul(y, 3), x) + torch.div(x, 2)
        y = F.dropout(F.gelu(y), 0.5, training=self.training)
        return torch.tril(torch.matmul(y, y.transpose(0, 1)))[1]


def test_toy() -> None:
    run(Toy(), tensor(3, 4), tensor(3, 4, seed=1))


def test_mlp_with_its_options() -> None:
    run(MLP(), tensor(2, 10), verbose=False, enable_tensor=False, leaf_modules=None)


def test_attention_bert_and_gpt2_blocks() -> None:
    run(Block(), tensor(1, 4, 8), leaf_modules=(CoreAttention,))


def test_a_decoder_with_a_cache() -> None:
    run(Decoder(), tensor(1, 1, 8), tensor(1, 3, 8, seed=2), leaf_modules=(KVCache,))


def test_the_particle_transformer() -> None:
    run(Particles(), tensor(2, 5, 4), leaf_modules=(CoreAttention, SliceClsToken))


def test_a_cnn() -> None:
    run(CNN(), tensor(2, 1, 8, 8))


def test_the_functions() -> None:
    run(Functions(), tensor(3, 4))


def test_weights_as_arguments_are_appended() -> None:
    module = run(MLP(), tensor(2, 10), weights_as_args=True)
    assert [w.shape for w in module.weight_data] == [(8, 10), (8,), (4, 8), (4,)]


def test_mlir_is_a_schedule_with_constants_of_the_weights() -> None:
    model, x = initialised(MLP()), tensor(2, 10)
    s = allo.frontend.from_pytorch(model, example_inputs=[x], target="mlir")
    assert isinstance(s, allo.schedule.Schedule)
    assert "@g_linear1_weight" in str(s.module) and "@g_linear2_bias" in str(s.module)
    np.testing.assert_allclose(s.build(target="llvm")(x.numpy()), model(x).detach(), atol=1e-4)


def test_types_of_parts() -> None:
    model, x = initialised(MLP()), tensor(2, 10)
    types = {
        "default": float32,
        "inputs": float32,
        "outputs": float32,
        "linear": float32,
        "linear_input": float16,
        "linear_weight": float16,
        "linear2": [float32, float16, float32],
    }
    module = allo.frontend.from_pytorch(model, [x], op_dtypes=types)
    np.testing.assert_allclose(module(x.numpy()), model(x).detach(), atol=2e-2)


def test_an_hls_project_takes_the_result_last(tmp_path: Path) -> None:
    model, x = initialised(MLP()), tensor(2, 10)
    module = allo.frontend.from_pytorch(
        model,
        example_inputs=[x],
        target="vitis_hls",
        mode="csim",
        project=str(tmp_path / "top.prj"),
    )
    result = np.zeros((2, 4), dtype=np.float32)
    module(x.detach().numpy(), result)
    np.testing.assert_allclose(result, model(x).detach().numpy(), atol=1e-4)


def test_what_there_is_no_lowering_for_is_not_implemented() -> None:
    class Sorted(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sort(x).values

    with pytest.raises(NotImplementedError, match=r"uses aten\.sort\.default"):
        allo.frontend.from_pytorch(Sorted(), [tensor(2, 3)])
