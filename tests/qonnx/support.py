"""Small networks made with ``onnx.helper``, and qonnx's executor beside the graphs that they become."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from qonnx.core.onnx_exec import execute_onnx

from allo.models.integers.reference import Reference
from allo.qonnx.entry import converted, reference_of
from allo.qonnx.nodes.floats import in_floats
from allo.qonnx.reading import read
from allo.qonnx.rewrites.spelling import CUSTOM, GENERAL

_BESIDE = [folder / "shared" / "networks" / "qonnx" for folder in Path(__file__).parents[3:]]
SHARED = next((folder for folder in _BESIDE if folder.is_dir()), _BESIDE[0])


class Network:
    """A graph in the making: ``x = net.input(1, 8)``, ``y = net("Relu", x)``, ``net.model(y)``."""

    def __init__(self, opset=13):
        self.nodes, self.inputs, self.constants, self.opset = [], [], [], opset
        self.version = 1

    def input(self, *shape, name="x"):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def constant(self, array, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def __call__(self, op, *inputs, **attributes):
        names = [n if isinstance(n, str) else self.constant(n) for n in inputs]
        number = len(self.nodes)
        domain = GENERAL if op in CUSTOM else ""
        made = f"t{number}"
        self.nodes.append(
            helper.make_node(op, names, [made], name=f"{op}_{number}", domain=domain, **attributes)
        )
        return made

    def quant(self, x, scale, bits, zero=0.0, signed=1, narrow=0, mode="ROUND"):
        return self(
            "Quant", x, scale, zero, float(bits), signed=signed, narrow=narrow, rounding_mode=mode
        )

    def model(self, *outputs):
        results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
        graph = helper.make_graph(self.nodes, "net", self.inputs, results, self.constants)
        sets = [helper.make_opsetid("", self.opset), helper.make_opsetid(GENERAL, self.version)]
        model = helper.make_model(graph, opset_imports=sets, ir_version=8)
        for output in model.graph.output:  # shapes are inferred
            output.type.tensor_type.ClearField("shape")
        return model


class Pair:
    """A model in qonnx's executor, and as the graph of levels that it becomes."""

    def __init__(self, model, input_type=None):
        self.graph, self.wrapper = read(model)
        self.converter = converted(self.graph, input_type)
        self.made = self.converter.made
        self.reference = reference_of(self.made)

    def executed(self, *inputs):
        """All tensors, by the executor."""
        given = dict(zip(self.graph.inputs, inputs, strict=True))
        with np.errstate(all="ignore"):
            return execute_onnx(self.wrapper, given, return_full_exec_context=True)

    def expected(self, *inputs):
        """The results, by the executor."""
        found = self.executed(*inputs)
        return [found[name] for name in self.graph.outputs]

    def values(self, *inputs):
        """All values of the graph of levels."""
        runner = Reference(self.made, in_floats)
        values = {**runner.fixed, **dict(zip(self.made.inputs, inputs, strict=True))}
        for op in self.made.operators:
            values[op.name] = runner.result(op, values)
        return values

    def levels(self, *inputs):
        """Of each tensor that a quantiser gives: our levels, and those of the executor."""
        values, found = self.values(*inputs), self.executed(*inputs)
        return {
            tensor: (values[name], grid.levels(found[tensor]))
            for tensor, (name, grid) in self.converter.levels.items()
        }

    def ties(self, *inputs, edge=1e-3):
        """The share of levels that differ at an edge, where the executor's float32 sum may fall either way.

        Any other difference is an error. Behind the first tensor with a tie nothing is compared.
        """
        values, found = self.values(*inputs), self.executed(*inputs)
        for tensor, (name, grid) in self.converter.levels.items():
            theirs = grid.levels(found[tensor])
            differing = values[name] != theirs
            if differing.any():
                node = next(n for n in self.graph.nodes if tensor in n.outputs)
                far = from_edges(node, found[node.inputs[0]].astype(np.float64), grid, found)
                far = far[differing].max()
                assert far < edge, f"{tensor}: {far} from an edge"
                assert np.abs(values[name] - theirs).max() == 1
                return differing.mean()
        return 0.0


def from_edges(node, x, grid, found):
    """How far floats are from where the level of a quantiser changes, in levels."""
    if node.op == "MultiThreshold":
        table = found[node.inputs[1]]
        table = table.reshape(1, len(table), *[1] * (x.ndim - 2), -1)
        return np.abs(x[..., None] - table).min(-1)
    before = (x - grid.offset) / grid.scale
    signs = node.attributes.get("signed") and (grid.low, grid.high) == (0, 1)
    if node.attributes.get("rounding_mode") in ("CEIL", "FLOOR", "UP", "DOWN") and not signs:
        return np.abs(before - np.rint(before))
    return np.abs(before - np.floor(before) - 0.5)


def same(ours, theirs):
    """All elements, and the shapes."""
    assert len(ours) == len(theirs)
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, expected, strict=False)
        assert mine.shape == expected.shape


def samples(rng, shape, scale=1.0):
    """Random floats, some of them halves and whole numbers, some far away."""
    x = rng.normal(0, 2, shape) * scale
    x = np.where(rng.random(shape) < 0.4, np.round(x * 2 / scale) / 2 * scale, x)
    return np.where(rng.random(shape) < 0.1, x * 100, x).astype(np.float32)
