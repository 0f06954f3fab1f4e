"""``fuse``: modules that follow each other as one function, and their nests as one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import allo
from allo.errors import HandleTypeError, ScheduleError, StepError, UnknownHandleError
from allo.frontend import from_pytorch
from allo.ir.types import float32, int32
from tests.torch.support import check_csim, check_hardware, initialised, tensor

X = tensor(1, 3, 8)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(8, 12)
        self.act = nn.GELU()
        self.down = nn.Linear(12, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.mlp = Network()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mlp(self.norm(x))


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks(x)


class Mixed(nn.Module):
    """Causal attention of two heads over the rows."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = x.view(1, 3, 2, 4).transpose(1, 2)
        scores = (q @ q.transpose(-2, -1)) / 2
        scores = scores.masked_fill(torch.ones(3, 3).tril() == 0, float("-inf"))
        return (torch.softmax(scores, -1) @ q).transpose(1, 2).reshape(1, 3, 8)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(self.relu(self.norm(self.conv(x))))


class Several(nn.Module):
    """Results with several readers, a module that is called twice, and modules that do not follow."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.ReLU()
        self.c = nn.Linear(8, 8)
        self.d = nn.Sigmoid()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x)
        z = self.c(self.b(y) + y)
        return self.d(z + z.flip(2)) + self.d(self.b(x))


def compiled(model: nn.Module, x: torch.Tensor = X, **options: Any) -> Any:
    options.setdefault("library", False)
    return from_pytorch(initialised(model), [x], target="mlir", verify=True, **options)


def body(s: Any, name: str) -> str:
    return str(s.module).split(f"func.func @{name}(")[1].split("func.func")[0]


def changes(s: Any, path: str) -> list[str]:
    return [row.became for row in s.explain(path).rows if not row.operator and row.path == path]


def test_an_activation_is_computed_where_the_product_is_stored(tmp_path: Path) -> None:
    s = compiled(Network())
    s["**"].pipeline()
    before = check_hardware(s, X).cycles
    s["up"].fuse("act")
    text = body(s, "up")
    assert (
        "math.erf" in text
        and text.count('memref.alloc() {name = "gelu"} : memref<1x3x12xf32>') == 1
    )
    assert text.count("memref<1x3x12xf32>\n") == 3
    assert [name for name, _ in s.get_loops("up")] == ["linear"]
    assert "@act(" not in str(s.module) and s.functions["act"] == ["up"]
    assert changes(s, "up") == [
        "act is fused behind it in up: nest gelu is computed where linear stored linear"
    ]
    assert changes(s, "act") == ["fused behind up in up"]
    assert s.explain("act").rows[0].became.startswith("plain nest gelu of up")
    assert check_hardware(s, X).cycles < before
    check_csim(s, tmp_path, X)


def test_several_modules_and_a_nest_of_the_model() -> None:
    s = compiled(Block())
    s["mlp.up"].fuse("act", "down")
    s["mlp"].fuse("add")
    s["mlp.up"].fuse("add")
    assert list(dict(s.get_loops("mlp_up"))) == ["linear_1"]
    assert re.findall(r"call @\w+", str(s.module)) == ["call @mlp_up", "call @norm", "call @mlp"]
    assert changes(s, "mlp.up")[1:] == [
        "mlp.down is fused behind it in mlp_up: nest linear is computed in loop i1 of linear_1",
        "nest add is fused behind it in mlp_up: nest add is computed where linear_1 stored linear",
    ]
    assert s.functions["mlp.down"] == s.functions["mlp.act"] == ["mlp_up"]
    s["mlp.down"].partition("weight", dim=1)
    assert "@g_mlp_down_weight : memref<8x12xf32, #map" in str(s.module)
    check_hardware(s, X)


def test_a_norm_and_the_layer_behind_it_are_one_nest() -> None:
    s = compiled(nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 12)))
    s["0"].fuse("1")
    assert list(dict(s.get_loops("layernorm_0"))) == ["linear"]
    assert '{name = "layer_norm"} : memref<8xf32>' in body(s, "layernorm_0")
    names = list(s.get_loops("layernorm_0")["linear"].loops)
    assert names[:2] == ["i0", "i1"] and len(names) == len(set(names)) == 9
    s["0"].pipeline()
    check_hardware(s, X)


def test_nests_within_a_module() -> None:
    s = compiled(Mixed())
    s[""].fuse()
    assert changes(s, "") == [
        "nest div is computed where matmul stored matmul",
        "nest masked_fill is computed where matmul stored div",
        "nest unsafe_view is computed where matmul_1 stored matmul_1",
        "nest matmul is computed in loop i2 of softmax",
        "nest softmax is computed in loop i2 of matmul_1",
    ]
    assert list(dict(s.get_loops())) == ["matmul_1"]
    s["**"].pipeline()
    check_hardware(s, X)


def test_convolution_norm_and_activation_but_not_the_pool(tmp_path: Path) -> None:
    x = tensor(1, 2, 6, 6)
    s = compiled(Convolutions(), x)
    s["conv"].fuse("norm", "relu")
    assert len(dict(s.get_loops("conv"))) == 1
    s["conv"].fuse("pool")
    assert len(dict(s.get_loops("conv"))) == 2
    assert "stays behind" in changes(s, "conv")[-1] and len(s.steps) == 2
    check_hardware(s, x)
    check_csim(s, tmp_path, x)


def test_wildcards_then_one_instance_for_all_blocks() -> None:
    s = compiled(Blocks())
    s["blocks.*.mlp.up"].fuse("act")
    s["blocks.*.mlp"].fuse("add")
    s["blocks.*.norm"].fuse("mlp")
    assert changes(s, "blocks.1.mlp")[-1] == "fused behind blocks.1.norm in blocks_1_norm"
    s["blocks.*"].share()
    assert s.functions["blocks.1.mlp.act"] == s.functions["blocks.0.mlp.up"] == ["blocks_0_mlp_up"]
    s["blocks.0.mlp.act"].pipeline()
    check_hardware(s, X)


def test_weights_that_are_arguments_stay_behind_the_inputs() -> None:
    s = compiled(Block(), weights_as_args=True)
    s["mlp.up"].fuse("act", "down")
    s["mlp"].fuse("add")
    s["norm"].fuse("mlp")
    assert s.weights_of["norm"] == [
        *("p_norm_weight", "p_norm_bias", "p_mlp_up_weight", "p_mlp_up_bias"),
        *("p_mlp_down_weight", "p_mlp_down_bias"),
    ]
    check_hardware(s, X)


def test_kernels_of_the_library_are_fused_too() -> None:
    s = compiled(Block(), library=True)
    before = check_hardware(s, X).cycles
    s["mlp.down"].pipeline("o0")
    s["mlp"].fuse("add")
    s["mlp.down"].fuse("add")
    s["norm"].fuse("mlp")
    assert "nest add is fused behind it in mlp_down: nest add is computed where linear" in str(
        s.explain("mlp.down")
    )
    assert check_hardware(s, X).cycles < before


def test_a_kernel_replaces_both() -> None:
    def both[L: int32, D: int32, M: int32](
        x: float32[1, L, D], w: float32[M, D], b: float32[M]
    ) -> float32[1, L, M]:
        z: float32[1, L, M]
        for i, j in allo.grid(L, M):
            t: float32 = b[j]
            for k in allo.reduction(D):
                t += x[0, i, k] * w[j, k]
            z[0, i, j] = t if t > 0 else 0
        return z

    s = compiled(nn.Sequential(nn.Linear(8, 12), nn.ReLU()))
    s["0"].fuse("1")
    s["0"].replace(both)
    assert {row.became for row in s.explain().rows if row.operator} == {"kernel both in linear_0"}


def test_integers() -> None:
    model = initialised(Network())
    s = allo.quantize(model, [tensor(1, 3, 8, seed=k) for k in range(3)]).customize()
    s["up"].fuse("act")
    s["**"].pipeline()
    check_hardware(s, X)


def test_loops_are_still_fused() -> None:
    s = compiled(Network())
    s["up"].fuse("k0", "k1")
    assert "k0_k1_fused" in list(s.get_loops("up")["linear"].loops)
    assert s.steps == ['s["up"].fuse("k0", "k1")']


@pytest.mark.parametrize(
    ("path", "names", "kind", "message"),
    [
        (
            "a",
            ("b",),
            ScheduleError,
            "Module 'b' cannot be fused behind 'a': nest 'add' needs the result of 'a' too.",
        ),
        (
            "c",
            ("d",),
            ScheduleError,
            "Module 'd' cannot be fused behind 'c': it does not read its result, which nest 'add_1' reads.",
        ),
        (
            "d",
            ("add_2",),
            ScheduleError,
            "No module can be fused behind 'd': it is called 2 times.",
        ),
        ("a", ("e",), UnknownHandleError, "No module of the model matches 'e'."),
        ("a", (3,), HandleTypeError, "fuse takes paths of modules and names of nests, not 3."),
        ("c", (), ScheduleError, "No nest of 'c' can be fused with another, which hand no array"),
        (
            "",
            ("a",),
            ScheduleError,
            "No module can be fused behind '(model)': it is the model itself.",
        ),
    ],
)
def test_what_cannot_be_fused(path: str, names: Any, kind: type, message: str) -> None:
    s = compiled(Several())
    before = str(s.module)
    with pytest.raises(kind) as caught:
        s[path].fuse(*names)
    assert message in str(caught.value)
    assert str(s.module) == before and s.steps == []


def test_a_step_that_one_module_refuses_changes_none() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.h = nn.ModuleList([Network(), Network()])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.h[1].down(self.h[1].act(y := self.h[1].up(self.h[0](x)))) + y.sum()

    s = compiled(Two())
    before, known = str(s.module), dict(s.kernel.functions)
    with pytest.raises(ScheduleError, match=r"nest 'sum' needs the result of 'h\.1\.up' too"):
        s["h.*.up"].fuse("act")
    assert str(s.module) == before and s.kernel.functions == known and s.steps == []
    assert s.functions["h.0.act"] == ["h_0_act"] and changes(s, "h.0.act") == []


def test_a_step_that_changes_the_result_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    from allo.models.modules.fusing import nests

    s = compiled(Network())
    before = str(s.module)

    def wrong(found: Any) -> None:
        follow(found)
        op = next(o for o in nests.walk(s.module.operation) if o.name == "math.erf")
        op.results[0].replace_all_uses_with(op.operands[0])

    follow = nests.follow
    monkeypatch.setattr(nests, "follow", wrong)
    with pytest.raises(StepError, match=r'Step 1, s\["up"\]\.fuse\("act"\), changed the result'):
        s["up"].fuse("act")
    assert str(s.module) == before and s.functions["act"] == ["act"]


def test_shared_modules_are_not_fused() -> None:
    s = compiled(Blocks())
    s["blocks.*.mlp"].share()
    with pytest.raises(ScheduleError, match="its function blocks_0_mlp_up is shared by several"):
        s["blocks.0.mlp.up"].fuse("act")
