"""The networks that come with the package ``qonnx``, and what its transformations make of a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import qonnx
from qonnx.core.datatype import DataType
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.transformation.batchnorm_to_affine import BatchNormToAffine
from qonnx.transformation.bipolar_to_xnor import ConvertBipolarMatMulToXnorPopcount
from qonnx.transformation.infer_datatypes import InferDataTypes
from qonnx.transformation.infer_shapes import InferShapes
from qonnx.transformation.lower_convs_to_matmul import LowerConvsToMatMul

from .support import Network, Pair, same, samples

DATA = Path(qonnx.__path__[0]) / "data" / "onnx"
FILES = {
    "floatquant_exec/qonnx_act_weight_fp8.onnx": 1e-6,
    "matmul_update/sdp.onnx": 1e-5,
    "mnist-conv/model.onnx": 1e-5,
    "bsd300x3-espcn/subpixel/float_model.onnx": 1e-6,
    "bsd300x3-espcn/nn_resize/float_model.onnx": 1e-6,
    "residual_block_clean.onnx": 1e-6,
}
"""Files, and how far sums of float32 may be apart that are added in another order, of the greatest result."""


@pytest.mark.parametrize("file", FILES)
def test_networks_of_the_package(file):
    pair = Pair(DATA / file)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(0, 1, shape).astype(np.float32) for shape in pair.graph.inputs.values()]
    for ours, theirs in zip(pair.reference(*inputs), pair.expected(*inputs), strict=True):
        far = FILES[file] * max(1.0, float(np.abs(theirs).max()))
        np.testing.assert_allclose(ours, theirs, rtol=FILES[file], atol=far)


def test_channels_that_meet_constants_have_all_levels_of_the_executor():
    """An image of bytes: the file says so, and the executor takes nothing else."""
    pair = Pair(DATA / "eltwise_chanlast_testcase.onnx")
    ((_, shape),) = pair.graph.inputs.items()
    x = np.random.default_rng(0).integers(0, 256, shape).astype(np.float32)
    same(pair.reference(x), pair.expected(x))
    assert pair.ties(x) == 0


@pytest.mark.parametrize("form", ["nn_resize", "subpixel"])
def test_super_resolution_has_the_levels_of_the_executor_but_for_ties(form):
    """Scales of 1 / 255 make ties of float32, which are told from other differences."""
    pair = Pair(DATA / "bsd300x3-espcn" / form / "quant_model.onnx")
    rng = np.random.default_rng(0)
    ((_, shape),) = pair.graph.inputs.items()
    x = rng.uniform(0, 1, shape).astype(np.float32)
    assert pair.ties(x) < 1e-3


def lowered():
    """Signs, a convolution, a norm and signs; then as FINN has it: windows, rows, bits that agree."""
    rng = np.random.default_rng(1)
    net = Network(opset=11)
    x = net("BipolarQuant", net.input(1, 3, 6, 5), 1.0)
    kernel = rng.choice([-1.0, 1.0], (4, 3, 3, 2))
    y = net(
        "Conv",
        x,
        kernel,
        kernel_shape=[3, 2],
        pads=[0, 0, 0, 0],
        strides=[1, 1],
        group=1,
        dilations=[1, 1],
    )
    gamma, beta, mean = (rng.normal(0, 1, 4) for _ in range(3))
    y = net("BatchNormalization", y, gamma, beta, mean, rng.uniform(0.5, 2, 4))
    return net.model(net("BipolarQuant", y, 1.0))


def test_windows_as_rows_and_bits_that_agree():
    model = ModelWrapper(lowered()).transform(InferShapes())
    for name in (model.graph.node[1].input[0], model.graph.node[1].input[1]):
        model.set_tensor_datatype(name, DataType["BIPOLAR"])
    plain = Pair(model)
    for step in (LowerConvsToMatMul(), BatchNormToAffine(), InferShapes(), InferDataTypes()):
        model = model.transform(step)
    rows = Pair(model)
    kinds = [node.op for node in rows.graph.nodes]
    assert "Im2Col" in kinds and "BatchNormalization" not in kinds
    x = samples(np.random.default_rng(2), (1, 3, 6, 5))
    same(rows.reference(x), plain.expected(x))
    assert [op.args.get("agreeing") for op in rows.made.operators if "matmul" in op.target] == [
        True
    ]


def test_products_of_signs_become_counts_by_the_packages_own_transformation():
    rng = np.random.default_rng(3)
    net = Network(opset=11)
    thresholds = np.zeros((1, 1))
    x = net(
        "MultiThreshold",
        net.input(1, 10),
        thresholds,
        out_dtype="BIPOLAR",
        out_scale=2.0,
        out_bias=-1.0,
    )
    model = ModelWrapper(net.model(net("MatMul", x, rng.choice([-1.0, 1.0], (10, 4)))))
    model = model.transform(InferShapes()).transform(InferDataTypes())
    model.set_tensor_datatype(model.graph.node[1].input[1], DataType["BIPOLAR"])
    counted = Pair(model.transform(ConvertBipolarMatMulToXnorPopcount()))
    assert "XnorPopcountMatMul" in [node.op for node in counted.graph.nodes]
    x = samples(rng, (1, 10))
    same(counted.reference(x), Pair(model).expected(x))
