"""Weights as constants, as arguments, in external memory, and in another order."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn

from allo.errors import ModelError
from allo.frontend import from_pytorch
from tests.torch.support import (
    arrays,
    assert_close,
    assert_equal_bits,
    check_hardware,
    initialised,
    tensor,
)

X = tensor(1, 2, 5, 5)


def network() -> nn.Module:
    return initialised(
        nn.Sequential(
            nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(27, 4), nn.Linear(4, 2)
        )
    )


def test_some_weights_are_arguments_and_these_may_be_in_external_memory() -> None:
    model = network()
    s = from_pytorch(model, [X], target="mlir", weights_as_args=["3.*", "0.bias"])
    assert [w.shape for w in s.weight_data] == [(3,), (4, 27), (4,)]
    assert np.shares_memory(s.weight_data[1], model[3].weight.detach().numpy())
    assert "@g_m0_weight" in str(s.module) and "@g_m3_weight" not in str(s.module)
    expected = arrays(s.build()(X.numpy(), *s.weight_data))
    assert_close(expected, model(X))
    names = {"g_m3_weight": "m_axi"}
    rtl = s.build(target="verilog", simulator="jit", configs={"interface": names})
    assert_equal_bits(arrays(rtl(X.numpy(), *s.weight_data)), expected)
    assert "m_axi_gmem0_araddr" in rtl.verilog.lower()


def test_a_built_model_appends_those_that_are_arguments() -> None:
    model = network()
    built = from_pytorch(model, [X], weights_as_args=["*.weight"])
    assert [w.ndim for w in built.weight_data] == [4, 2, 2]
    assert_close(built(X.numpy()), model(X))


@pytest.mark.parametrize("as_args", [False, True])
def test_another_order_of_the_dimensions_changes_nothing(as_args: bool) -> None:
    model = network()
    layouts = {"0.weight": (0, 2, 3, 1), "[34].weight": (1, 0)}
    s = from_pytorch(model, [X], target="mlir", weights_as_args=as_args, layouts=layouts)
    for declared in ("g_m0_weight: float32[3, 3, 3, 2]", "g_m3_weight: float32[27, 4]"):
        assert declared in s.source
    with torch.no_grad():
        assert_close(s.build()(X.numpy(), *s.weight_data), model(X))
    plain = from_pytorch(model, [X], target="mlir", library=False)
    assert_equal_bits(
        arrays(s.build()(X.numpy(), *s.weight_data)), arrays(plain.build()(X.numpy()))
    )
    check_hardware(s, X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"weights_as_args": ["3.weigth"]},
            "weights_as_args has '3.weigth', which names no weight",
        ),
        ({"layouts": {"7.*": (1, 0)}}, "layouts has '7.*', which names no weight of the model."),
        (
            {"layouts": {"3.weight": (0, 2)}},
            "The layout of '3.weight' is (0, 2), and the weight has 2 dimensions.",
        ),
    ],
)
def test_what_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        from_pytorch(network(), [X], **options)
