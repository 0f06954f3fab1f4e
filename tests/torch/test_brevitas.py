"""Networks written in Brevitas, exported here: the results of qonnx's executor, and of Brevitas itself."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from allo.errors import ModelError, ToolMissingError, UnsupportedOperatorError
from allo.frontend import from_brevitas
from allo.qonnx.entry import from_qonnx
from allo.qonnx.exports.brevitas import exported
from tests.qonnx.support import Pair

from .brevitas_networks import NETWORKS, Int8WeightPerTensorFixedPoint, network, qnn

ROUNDED = {"scaled_mlp", "asymmetric_weights", "pools", "lstm", "encoder"}
"""Of scales that are no powers of two, means of nine, or floats: the executor's float32 rounds too."""
IN_HARDWARE = [
    "mlp",
    "signs",
    "cnn",
    "residual",
    "asymmetric",
    "pools",
    "decoder",
    "lstm",
    "encoder",
]


def taken(name, count=4):
    """A network as its export, and inputs."""
    module, shape = network(name)
    rng = np.random.default_rng(1)
    inputs = [rng.normal(0, 1.5, shape).astype(np.float32) for _ in range(count)]
    return module, exported(module, torch.tensor(inputs[0])), inputs


def compare(name, ours, theirs):
    ours = ours if isinstance(ours, (list, tuple)) else [ours]
    assert len(ours) == len(theirs)
    for mine, expected in zip(ours, theirs, strict=True):
        if name in ROUNDED:
            np.testing.assert_allclose(mine, expected, rtol=2e-5, atol=2e-6)
        else:
            np.testing.assert_array_equal(mine, expected)


def of_brevitas(module, x):
    """What the module itself computes."""
    with torch.no_grad():
        found = module(torch.tensor(x))
    found = found[0] if type(found) is tuple else found
    return getattr(found, "value", found).numpy()


@pytest.mark.parametrize("name", NETWORKS)
def test_every_result_is_the_executors_and_that_of_brevitas(name):
    module, proto, inputs = taken(name)
    pair, cpu = Pair(proto), from_qonnx(proto)
    for x in inputs:
        expected = pair.expected(x)
        assert pair.ties(x) == 0  # every level that a quantiser gives
        compare(name, cpu(x), expected)
        np.testing.assert_allclose(expected[0], of_brevitas(module, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", IN_HARDWARE)
def test_hardware_has_the_results(name):
    _, proto, inputs = taken(name, 1)
    s = from_qonnx(proto, target="mlir")
    hardware, pair = s.build(target="verilog", simulator="jit"), Pair(proto)
    compare(name, hardware(*inputs), pair.expected(*inputs))
    found = hardware(*inputs)
    for ours, bits in zip(
        found if isinstance(found, (list, tuple)) else [found], pair.reference(*inputs), strict=True
    ):
        np.testing.assert_array_equal(ours, bits)


def test_an_export_is_the_same_for_the_same_seed():
    first, again = (taken("mlp", 1)[1] for _ in range(2))
    assert first.SerializeToString() == again.SerializeToString()


def test_a_module_is_compiled_and_a_changed_weight_is_seen():
    module, shape = network("mlp")
    x = torch.randn(*shape)
    compiled = from_brevitas(module, x)
    np.testing.assert_array_equal(compiled(x.numpy()), of_brevitas(module, x.numpy()))
    with torch.no_grad():
        module[3].bias[0] += 1.0
    assert not np.array_equal(compiled(x.numpy()), of_brevitas(module, x.numpy()))
    s = from_brevitas(module, [x], target="mlir")
    assert {"1.Gemm", "3.Gemm"} <= set(s.module_paths.values())


def test_what_brevitas_cannot_export_says_what_would_do(monkeypatch):
    x = torch.randn(1, 8)
    with pytest.raises(
        ModelError, match="No layer of this module has a quantiser.*\n.*from_pytorch"
    ):
        from_brevitas(torch.nn.Linear(8, 4), x)
    with pytest.raises(ModelError, match="A function is no PyTorch module"):
        from_brevitas(lambda x: x, x)
    with pytest.raises(ModelError, match="no example inputs"):
        from_brevitas(qnn.QuantIdentity(), [])
    with pytest.raises(ModelError, match="Brevitas cannot export this module.*mat1 and mat2"):
        from_brevitas(qnn.QuantLinear(6, 4, True), x)
    given = {
        "weight_quant": Int8WeightPerTensorFixedPoint,
        "weight_float_to_int_impl_type": "FLOOR",
    }
    floor = torch.nn.Sequential(qnn.QuantLinear(8, 4, True, **given))
    with pytest.raises(UnsupportedOperatorError, match="Weights of '0' are rounded by FLOOR"):
        from_brevitas(floor, x)
    monkeypatch.setitem(sys.modules, "brevitas.export", None)
    with pytest.raises(
        ToolMissingError, match=r"brevitas.export cannot be imported(?s:.*)allo\[brevitas\]"
    ):
        from_brevitas(floor, x)
