"""Modules that are known patterns become kernels of the library by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import allo
from allo.dialects.affine.loops import walk
from allo.dialects.core.locations import place_of
from allo.errors import OptionError, UnknownHandleError
from allo.frontend import from_pytorch
from allo.ir.types import float16
from allo.library import nn as library
from allo.schedule.resolve import find_function
from tests.torch.support import assert_close, check_hardware, initialised, tensor

IMAGE = tensor(1, 2, 6, 6)


class Network(nn.Module):
    """One module of each pattern."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=1, stride=2)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(9, 8)
        self.norm = nn.LayerNorm(8)
        self.rms = nn.RMSNorm(8, eps=1e-5)
        self.soft = nn.Softmax(-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.relu(self.conv(x)).flatten(2)
        rows = self.rms(self.norm(self.fc(rows)))
        return self.soft(rows.flatten(0, 1))


class Misfits(nn.Module):
    """Modules that look like patterns, and are none."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8, eps=1e-12)
        self.plain = nn.RMSNorm(8, eps=1e-5, elementwise_affine=False)
        self.act = nn.GELU(approximate="tanh")
        self.conv = nn.Conv1d(3, 3, 3, padding=1)
        self.groups = nn.Conv2d(2, 2, 3, padding=1, groups=2)
        self.tied = nn.Linear(8, 8)
        self.soft = nn.Softmax(-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.plain(self.norm(x))
        x = self.groups(self.conv(self.act(x)).unsqueeze(0)).squeeze(0)
        x = F.linear(x, self.tied.weight, self.tied.bias)
        x = self.tied(x.unsqueeze(1)).squeeze(1)
        return F.scaled_dot_product_attention(x, x, self.soft(x))


def compiled(model: nn.Module, *inputs: torch.Tensor, **options: Any) -> Any:
    return from_pytorch(initialised(model), list(inputs), target="mlir", **options)


def became(s: Any) -> dict[str, str]:
    rows = [row for row in s.explain().rows if row.operator and "subscript" not in row.became]
    return {f"{row.path}:{row.operator.split('.')[1]}": row.became for row in rows}


def test_modules_become_kernels_with_their_default_schedules() -> None:
    s = compiled(Network(), IMAGE, verify=True)
    plain = compiled(Network(), IMAGE, verify=True, library=False)
    assert became(s) == {
        "conv:conv2d": "kernel conv2d in conv",
        "relu:relu": "kernel relu4d in relu",
        "fc:linear": "kernel linear3d in fc",
        "norm:layer_norm": "kernel layer_norm3d in norm",
        "rms:rms_norm": "kernel rms_norm3d in rms",
        "soft:softmax": "kernel softmax_rows in soft",
        ":view": "plain nest view of forward",
    }
    assert s.steps == [] and [row.path for row in s.explain("norm").rows] == ["norm", "norm"]
    assert s.explain("norm").rows[1].became == (
        "a kernel of the library that fits, with its default schedule"
    )
    assert check_hardware(s, IMAGE).cycles < 0.4 * check_hardware(plain, IMAGE).cycles


def test_loops_and_arrays_have_the_names_of_the_plain_nests() -> None:
    s, plain = (compiled(Network(), IMAGE, library=library) for library in (True, False))
    for module in ("conv", "relu", "fc"):
        mine, theirs = s.get_loops(module), plain.get_loops(module)
        assert list(dict(mine)) == list(dict(theirs))
        band = next(iter(dict(mine)))
        assert [n for n in theirs[band].loops if n in mine[band].loops] == list(mine[band].loops)
    s["fc"].partition("weight", dim=1)
    s["fc"].partition("row", dim=1)
    s["fc"].unroll("k1")
    s["fc"].pipeline("k0")
    s["conv"].partition("x", dim=4)
    with torch.no_grad():
        assert_close(s.build()(IMAGE.numpy()), initialised(Network())(IMAGE))
    check_hardware(s, IMAGE)


def test_operations_have_the_lines_of_the_model() -> None:
    s = compiled(Network(), IMAGE)
    places = [place_of(op) for op in walk(find_function(s.module, "norm"))]
    assert {place.file for place in places if place} == {__file__} and None not in places


@pytest.mark.parametrize(
    ("layer", "shape", "became_"),
    [
        (nn.Linear(6, 5, bias=False), (3, 6), "0:linear kernel linear2d in linear_0"),
        (nn.Linear(6, 5, bias=False), (2, 3, 6), "0:linear kernel linear3d in linear_0"),
        (nn.Conv2d(2, 3, 3, 2, 1, bias=False), (1, 2, 5, 5), "0:conv2d kernel conv2d in conv2d_0"),
    ],
    ids=["rows", "batch", "images"],
)
def test_a_layer_without_a_bias_adds_none(
    layer: nn.Module, shape: tuple[int, ...], became_: str
) -> None:
    model, x = nn.Sequential(layer), tensor(*shape)
    s, plain = (compiled(model, x, verify=True, library=on) for on in (True, False))
    assert [" ".join(item) for item in became(s).items()] == [became_]
    assert "_bias" not in str(s.module)
    assert str(s.module).count("arith.addf") == str(plain.module).count("arith.addf") == 1
    np.testing.assert_array_equal(
        s.build()(x.numpy()).view(np.int32), plain.build()(x.numpy()).view(np.int32)
    )
    assert check_hardware(s, x).cycles < check_hardware(plain, x).cycles


def test_it_can_be_turned_off() -> None:
    plain = compiled(Network(), IMAGE, library=False)
    assert became(plain)["fc:linear"] == (
        "plain nest linear of fc; no kernel of the library: library=False keeps it"
    )
    assert "pipeline_ii" not in str(plain.module)
    some = compiled(Network(), IMAGE, library={"*": False, "norm": True})
    kernels = [name for name, text in became(some).items() if text.startswith("kernel")]
    assert kernels == ["norm:layer_norm"]


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("fc", OptionError, "library is 'fc', and neither a truth value nor a mapping of module"),
        ({"fc": library.linear2d}, OptionError, r"library\['fc'\] is .*, and no truth value"),
        ({"fx": False}, UnknownHandleError, "No module of the model matches 'fx'"),
    ],
    ids=["text", "kernel", "path"],
)
def test_what_library_is_not(given: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        compiled(Network(), IMAGE, library=given)


def test_what_does_not_fit_stays_plain_and_says_why() -> None:
    s = compiled(Misfits(), tensor(2, 3, 8), verify=True)
    reasons = {name: text.partition("library: ")[2] for name, text in became(s).items()}
    assert reasons["norm:layer_norm"] == "its eps is 1e-12, and that of the kernel 1e-05"
    assert reasons["plain:rms_norm"] == "the kernel takes weight"
    assert reasons["act:gelu"] == "the constants of GeLU are rounded"
    assert reasons["groups:conv2d"] == "conv2d has neither groups nor dilation"
    assert reasons[":linear"] == "it is not all that one module does"
    assert reasons["tied:linear"] == "its input has 4 dimensions"
    assert reasons["soft:softmax"] == "it is not over the rows of two dimensions"
    assert reasons[":scaled_dot_product_attention"].startswith("kernels of the library have the")
    assert "kernel " not in str(s.explain()).replace("no kernel", "").replace("the kernel", "")


def test_other_types_and_weights_that_are_arguments_stay_plain() -> None:
    halves = compiled(nn.Sequential(nn.Linear(4, 4)), tensor(2, 4), op_dtypes={"default": float16})
    assert became(halves)["0:linear"].endswith("its element types are not all float32")
    given = compiled(nn.Sequential(nn.Linear(4, 4)), tensor(2, 4), weights_as_args=True)
    assert became(given)["0:linear"].endswith("its weights are arguments of the design")


def test_each_module_asks_for_its_own_weights() -> None:
    """Patterns of arguments and layouts of one module change nothing in the others."""
    x = tensor(1, 2, 5, 5)
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(27, 4), nn.Linear(4, 4)
    )
    kernels = {
        "1:relu": "kernel relu4d in relu_1",
        "2:view": "plain nest view of forward",
        "4:linear": "kernel linear2d in linear_4",
    }
    plain = {"0:conv2d": "conv2d of conv2d_0", "3:linear": "linear of linear_3"}
    cases: list[tuple[dict[str, Any], tuple[str, str]]] = [
        (
            {"layouts": {"0.weight": (0, 2, 3, 1), "3.weight": (1, 0), "4.weight": (0, 1)}},
            (
                "its weight is stored in the order (0, 2, 3, 1) of its dimensions",
                "its weight is stored in the order (1, 0) of its dimensions",
            ),
        ),
        (
            {"weights_as_args": ["0.bias", "3.*"], "layouts": {"3.weight": (1, 0)}},
            ("its bias is an argument of the design", "its weights are arguments of the design"),
        ),
    ]
    for options, reasons in cases:
        s = compiled(model, x, verify=True, **options)
        assert became(s) == kernels | {
            name: f"plain nest {plain[name]}; no kernel of the library: {reason}"
            for name, reason in zip(plain, reasons, strict=True)
        }
        with torch.no_grad():
            assert_close(s.build()(x.numpy(), *s.weight_data), model(x))
        check_hardware(s, x)


def test_a_quantised_model_keeps_the_order_of_its_reference() -> None:
    quantised = allo.quantize(initialised(Network()), [IMAGE])
    s = quantised.customize()
    assert "kernel" not in str(s.explain())
    np.testing.assert_array_equal(
        s.build()(IMAGE.numpy()), np.asarray(quantised.reference(IMAGE)).reshape(3, 8)
    )


def test_the_schedule_of_a_part_is_composed_on_kernels() -> None:
    x = tensor(2, 8)
    s = compiled(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)), x, verify=True)
    part = compiled(nn.Sequential(nn.Linear(8, 8)), x)
    part["0"].split("k1", 4)
    assert len(part.primitive_sequences) == 1
    s["1"].compose(compiled(nn.Linear(8, 8), x))
    s[""].compose(part)
    assert "k1.inner" in list(s.get_loops("linear_0")["linear"].loops)
    assert "k1.inner" not in list(s.get_loops("linear_1")["linear"].loops)


def test_kernels_of_alike_modules_are_shared_and_replaced() -> None:
    s = compiled(nn.Sequential(*[nn.Linear(8, 8) for _ in range(3)]), tensor(2, 8), verify=True)
    s["[01]"].share()
    s["2"].replace(library.linear2d)
    assert became(s)["2:linear"] == "kernel linear2d in linear_2"
    assert s.functions["1"] == ["linear_0"] and len(s.steps) == 2
    check_hardware(s, tensor(2, 8))
