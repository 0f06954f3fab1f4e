"""Recurrent cells spelled out: ``LSTM``, and ``QuantLSTMCell`` of Brevitas, which qonnx cannot execute.

Each step of the sequence becomes products, sums, activations and quantisers of its own, as the ONNX
operator ``LSTM`` defines them (gates i, o, f, c), and as Brevitas computes them between quantisers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError, UnsupportedOperatorError

from ..packages import load
from .spelling import GENERAL

_CELL = "QuantLSTMCell"
_GATES = ("input", "forget", "cell", "output")
_QUANTISERS = (
    "output",
    "cell_state",
    *(f"{gate}_acc" for gate in _GATES),
    "input_sigmoid",
    "forget_sigmoid",
    "cell_tanh",
    "output_sigmoid",
    "hidden_state_tanh",
)
"""The quantisers of Brevitas's cell, three inputs each, in its order."""


def spelled_out(wrapper: Any) -> Any:
    """A model without recurrent cells; the same model where it has none.

    Raises:
        UnsupportedOperatorError: a form of ``LSTM`` that has no steps.
        ModelError: a sequence whose length depends on the input.
    """
    while True:
        places = [k for k, node in enumerate(wrapper.graph.node) if node.op_type in (_CELL, "LSTM")]
        if not places:
            return wrapper
        _replace(wrapper, places[0])


def _replace(wrapper: Any, place: int) -> None:
    node = wrapper.graph.node[place]
    steps = _Steps(node, _shape_of(wrapper, place))
    if node.op_type == _CELL:
        _quantised_cell(steps)
    else:
        _lstm(steps, {i.name: i for i in wrapper.graph.initializer})
    rest = list(wrapper.graph.node)[place + 1 :]
    del wrapper.graph.node[place:]
    wrapper.graph.node.extend([*steps.nodes, *rest])
    wrapper.graph.initializer.extend(steps.constants)


def _shape_of(wrapper: Any, place: int) -> tuple[int, ...]:
    """The shape of a cell's sequence, from the nodes before it."""
    before = type(wrapper)(wrapper.model, make_deepcopy=True)
    name = before.graph.node[place].input[0]
    del before.graph.node[place:]
    del before.graph.output[:]
    del before.graph.value_info[:]
    known = before.transform(load("qonnx.transformation.infer_shapes").InferShapes())
    shape = known.get_tensor_shape(name)
    if not shape or not all(shape):
        raise ModelError(
            f"The sequence {name!r} of a recurrent cell has no fixed length.",
            help="hardware has fixed shapes: export with an example input, without dynamic axes.",
        )
    return tuple(int(n) for n in shape)


@dataclass(frozen=True, slots=True)
class _Quantiser:
    """A quantiser of a cell: its three inputs, and its attributes."""

    inputs: Sequence[str]
    attributes: dict[str, Any]


class _Steps:
    """The nodes that a cell becomes.

    Attributes:
        node: the cell.
        shape: of its sequence.
        nodes: made so far.
        constants: initializers of theirs.
    """

    def __init__(self, node: Any, shape: tuple[int, ...]) -> None:
        self.node, self.shape = node, shape
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.stem = node.name or f"{node.op_type}_{node.output[0]}"
        helper = load("onnx").helper
        found = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.attributes = {
            key: value.decode() if isinstance(value, bytes) else value
            for key, value in found.items()
        }

    def __call__(self, op: str, *inputs: str, into: str = "", **attributes: Any) -> str:
        """A node, and the name of its result."""
        name = f"{self.stem}/{op}_{len(self.nodes)}"
        made = into or f"{name}_made"
        domain = GENERAL if op in ("Quant", "BipolarQuant") else ""
        helper = load("onnx").helper
        self.nodes.append(
            helper.make_node(op, list(inputs), [made], name=name, domain=domain, **attributes)
        )
        return made

    def constant(self, array: Any) -> str:
        """An initializer, and its name."""
        name = f"{self.stem}/constant_{len(self.constants)}"
        self.constants.append(load("onnx").numpy_helper.from_array(np.asarray(array), name))
        return name

    def reshaped(self, name: str, shape: Sequence[int], into: str = "") -> str:
        """The same elements in another shape."""
        return self("Reshape", name, self.constant(np.array(shape, np.int64)), into=into)

    def part(self, name: str, index: int, axis: int = 0) -> str:
        """One element of a dimension, which goes."""
        return self("Gather", name, self.constant(np.array(index, np.int64)), axis=axis)

    def quant(self, name: str, by: _Quantiser) -> str:
        """A tensor quantised."""
        return self("Quant", name, *by.inputs, **by.attributes)

    def refusal(self, why: str, help: str) -> UnsupportedOperatorError:
        """The error for a cell that has no steps."""
        return UnsupportedOperatorError(
            f"Node {self.stem!r} is {self.node.op_type} {why}.", help=help
        )


# --- Brevitas -------------------------------------------------------------------------------------


def _quantised_cell(steps: _Steps) -> None:
    node, attributes = steps.node, steps.attributes
    if attributes.get("cifg"):
        raise steps.refusal("whose input and forget gates are coupled", "cifg=False is supported.")
    sequence, hidden, cell = node.input[:3]
    weights, recurrent, biases = node.input[3:7], node.input[7:11], node.input[11:15]
    quantisers = {
        name: _Quantiser(node.input[15 + 3 * k : 18 + 3 * k], _attributes(attributes, name))
        for k, name in enumerate(_QUANTISERS)
    }
    turned = [[steps("Transpose", w, perm=[1, 0]) for w in given] for given in (weights, recurrent)]
    axis = 1 if attributes.get("batch_first") else 0
    order = list(range(steps.shape[axis]))
    if attributes.get("reverse_input"):
        order.reverse()
    outputs = []
    for at in order:
        x = steps.part(sequence, at, axis)
        gates = {}
        for number, gate in enumerate(_GATES):
            total = steps("MatMul", x, turned[0][number])
            back = steps("MatMul", hidden, turned[1][number])
            total = steps("Add", steps("Add", total, back), biases[number])
            total = steps.quant(total, quantisers[f"{gate}_acc"])
            curve = "tanh" if gate == "cell" else "sigmoid"
            bent = steps(curve.capitalize(), total)
            gates[gate] = steps.quant(bent, quantisers[f"{gate}_{curve}"])
        state = quantisers["cell_state"]
        kept = steps.quant(steps("Mul", gates["forget"], cell), state)
        new = steps.quant(steps("Mul", gates["input"], gates["cell"]), state)
        cell = steps.quant(steps("Add", kept, new), state)
        bent = steps.quant(steps("Tanh", cell), quantisers["hidden_state_tanh"])
        hidden = steps.quant(steps("Mul", gates["output"], bent), quantisers["output"])
        outputs.append(hidden)
    _collected(steps, outputs, axis, node.output[0])
    _named(steps, hidden, cell)


def _attributes(attributes: dict[str, Any], name: str) -> dict[str, Any]:
    narrow = attributes.get(f"{name}_narrow", attributes.get(f"{name}_narrow_range", 0))
    return {
        "narrow": narrow,
        "signed": attributes[f"{name}_signed"],
        "rounding_mode": attributes[f"{name}_rounding_mode"],
    }


def _collected(steps: _Steps, outputs: Sequence[str], axis: int, into: str) -> None:
    """The hidden states of all steps side by side."""
    batch = steps.shape[1 - axis]
    each = [1, batch, -1] if axis == 0 else [batch, 1, -1]
    made = [steps.reshaped(name, each) for name in outputs]
    steps("Concat", *made, axis=axis, into=into)


def _named(steps: _Steps, hidden: str, cell: str) -> None:
    """The last states, where the graph has names for them."""
    for name, into in zip((hidden, cell), steps.node.output[1:3], strict=False):
        if into:
            steps("Identity", name, into=into)


# --- ONNX -----------------------------------------------------------------------------------------


def _lstm(steps: _Steps, known: dict[str, Any]) -> None:
    node, attributes = steps.node, steps.attributes
    inputs = [*node.input, *[""] * (8 - len(node.input))]
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    both = directions[attributes.get("direction", "forward")]
    plain = ["Sigmoid", "Tanh", "Tanh"] * len(both)
    named = [
        n.decode() if isinstance(n, bytes) else n for n in attributes.get("activations", plain)
    ]
    if inputs[7] or named != plain or attributes.get("clip") or attributes.get("input_forget"):
        raise steps.refusal(
            "with peepholes, other activations, clip or input_forget",
            "sigmoid and tanh without these are supported.",
        )
    if attributes.get("layout", 0) or (
        inputs[4] and not _full(known.get(inputs[4]), steps.shape[0])
    ):
        raise steps.refusal(
            "with layout=1 or sequences of several lengths",
            "layout=0 and sequences that are all as long as the input are supported.",
        )
    size = int(attributes["hidden_size"])
    found = [_direction(steps, inputs, number, back, size) for number, back in enumerate(both)]
    length, batch = steps.shape[:2]
    shape = [length, 1, batch, size]
    whole = [steps.reshaped(states, shape) for states, _, _ in found]
    if node.output[0]:
        steps("Concat", *whole, axis=1, into=node.output[0])
    for place in (1, 2):
        if len(node.output) > place and node.output[place]:
            last = [steps.reshaped(one[place], [1, batch, size]) for one in found]
            steps("Concat", *last, axis=0, into=node.output[place])


def _full(initializer: Any, length: int) -> bool:
    if initializer is None:
        return False
    return bool(np.all(load("onnx").numpy_helper.to_array(initializer) == length))


def _direction(
    steps: _Steps, inputs: Sequence[str], number: int, back: bool, size: int
) -> tuple[str, str, str]:
    """All hidden states, the last one, and the last cell state of one direction."""
    length, batch = steps.shape[:2]
    gates = ("i", "o", "f", "c")

    def rows(name: str, width: int) -> list[str]:
        one = steps.reshaped(steps.part(name, number), [len(gates), size, width])
        return [steps("Transpose", steps.part(one, k), perm=[1, 0]) for k in range(len(gates))]

    weights, recurrent = rows(inputs[1], steps.shape[2]), rows(inputs[2], size)
    biases: list[list[str]] = []
    if inputs[3]:
        split = steps.reshaped(steps.part(inputs[3], number), [2, len(gates), size])
        halves = [steps.part(split, k) for k in range(2)]
        biases += [[steps.part(one, k) for k in range(len(gates))] for one in halves]
    zeros = steps.constant(np.zeros((batch, size), np.float32))
    hidden = steps.part(inputs[5], number) if inputs[5] else zeros
    cell = steps.part(inputs[6], number) if inputs[6] else zeros
    order = list(range(length))
    states: dict[int, str] = {}
    for at in reversed(order) if back else order:
        x = steps.part(inputs[0], at)
        bent = {}
        for k, gate in enumerate(gates):
            total = steps("MatMul", x, weights[k])
            total = steps("Add", total, steps("MatMul", hidden, recurrent[k]))
            for half in biases:
                total = steps("Add", total, half[k])
            bent[gate] = steps("Tanh" if gate == "c" else "Sigmoid", total)
        kept = steps("Mul", bent["f"], cell)
        cell = steps("Add", kept, steps("Mul", bent["i"], bent["c"]))
        hidden = steps("Mul", bent["o"], steps("Tanh", cell))
        states[at] = hidden
    made = [steps.reshaped(states[at], [1, batch, size]) for at in order]
    return steps("Concat", *made, axis=0), hidden, cell
