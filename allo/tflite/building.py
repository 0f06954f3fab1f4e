"""What the conversion of an operator has at hand: the file's tensors, and the graph that is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.dialects.diagnostics import SourcePlace, UnsupportedOperatorError
from allo.models.graph import Meta, Model, ModuleCall, Operator, Ref
from allo.models.integers.arithmetic import Array
from allo.models.text import identifier

from .network import INTEGERS, Network, Node, TensorInfo
from .scales import reduced
from .steps import Staircase


class Building:
    """A graph while it is made of a file.

    Attributes:
        network: the file.
        made: the graph.
        place: the line that asked for it.
    """

    def __init__(self, network: Network, place: SourcePlace | None) -> None:
        self.network, self.place = network, place
        self.made = Model()
        self._names: dict[int, str] = {}
        for index in network.inputs:
            info = network.tensors[index]
            name = identifier(info.name.split(":")[0].split("/")[-1] or "x")
            while name in self.made.inputs:
                name = f"{name}_{index}"
            self.made.inputs[name] = Meta(info.shape, info.dtype)
            self._names[index] = name

    # --- values ---------------------------------------------------------------------------------

    def value(self, info: TensorInfo) -> Ref:
        """A tensor of the graph: an input, a result, or what the file holds."""
        if info.index not in self._names:
            name = identifier(f"tensor_{info.index}")
            self.made.constants[name] = info.data
            self._names[info.index] = name
        return Ref(self._names[info.index])

    def weight(self, node: Node, word: str, array: Array) -> Ref:
        """A parameter of an operator, which a schedule knows by ``path.word``."""
        name = f"{node.path}_{word}"
        self.made.weights[name] = (f"{node.path}.{word}", np.ascontiguousarray(array))
        return Ref(name)

    def table(self, node: Node, word: str, values: Any, dtype: str = "int32") -> Any:
        """Numbers of the channels: one number where all are equal, else a constant."""
        array = np.asarray(values, dtype)
        if array.size and (array == array.flat[0]).all():
            return int(array.flat[0])
        name = f"{node.path}_{word}"
        self.made.constants[name] = array
        self.made.narrow[name] = f"int{max(int(array.max()), ~int(array.min())).bit_length() + 1}"
        return Ref(name)

    def constant(self, node: Node, word: str, array: Array) -> Ref:
        """A constant tensor."""
        name = f"{node.path}_{word}"
        self.made.constants[name] = array
        return Ref(name)

    # --- operators ------------------------------------------------------------------------------

    def add(self, node: Node, target: str, args: dict[str, Any], result: TensorInfo) -> None:
        """An operator that makes a result of a node."""
        name = (
            node.path
            if len(node.outputs) == 1
            else f"{node.path}_{node.outputs.index(result.index)}"
        )
        self._names[result.index] = name
        self.step(node, name, target, args, Meta(result.shape, result.dtype))

    def step(self, node: Node, name: str, target: str, args: dict[str, Any], meta: Meta) -> Ref:
        """An operator whose result is on the way to that of a node."""
        call = ModuleCall(node.path, node.path, node.word)
        self.made.operators.append(Operator(name, target, args, (meta,), (call,), self.place))
        return Ref(name)

    def same(self, info: TensorInfo, source: TensorInfo) -> None:
        """A tensor that is another one."""
        self._names[info.index] = self.value(source).name

    # --- ends of sums ---------------------------------------------------------------------------

    def ending(
        self, node: Node, word: str, factors: list[tuple[int, int]], *, wide: bool = False
    ) -> dict[str, Any]:
        """The arguments by which sums are multiplied: ``word``, ``word_left`` and ``word_right``.

        Args:
            node: the operator.
            word: the name of the argument.
            factors: mantissa and exponent, of each channel or one for all.
            wide: of sums of 64 bits, whose mantissas have 16.
        """
        if wide:
            mantissas = [reduced(m) for m, _ in factors]
            return {
                word: self.table(node, word, mantissas),
                f"{word}_right": self.table(node, f"{word}_right", [15 - e for _, e in factors]),
                f"{word}_half": self.table(
                    node, f"{word}_half", [1 << (14 - e) for _, e in factors], "int64"
                ),
                f"{word}_wide": 64,
            }
        rights = [max(-e, 0) for _, e in factors]
        found = {
            word: self.table(node, word, [m for m, _ in factors]),
            f"{word}_left": self.table(
                node, f"{word}_left", [1 << max(e, 0) for _, e in factors], "int64"
            ),
            f"{word}_right": self.table(node, f"{word}_right", rights),
            f"{word}_half": self.table(node, f"{word}_half", [(1 << r) >> 1 for r in rights]),
        }
        # A right shift by nothing does not look at the sign.
        signs = [int(r > 0) for r in rights]
        return {**found, f"{word}_sign": self.table(node, f"{word}_sign", signs)}

    def staircase(self, node: Node, word: str, found: Staircase, bits: int) -> dict[str, Any]:
        """As :meth:`ending`, of sums of so many bits: a multiplier, an addend and a shift."""
        widest = int(found.multipliers.max()).bit_length()
        dtype = "int16" if widest < 16 else "int32" if widest < 32 else "int64"
        return {
            word: self.table(node, word, found.multipliers, dtype),
            f"{word}_half": self.table(node, f"{word}_half", found.addends, "int64"),
            f"{word}_right": self.table(node, f"{word}_right", found.shifts),
            f"{word}_wide": min(bits + widest + 2, 64),
        }

    # --- refusals -------------------------------------------------------------------------------

    def refusal(self, node: Node, why: str, help: str) -> UnsupportedOperatorError:
        """The error for an operator, or a form of one, that is not supported."""
        named = self.network.tensors[node.outputs[0]].name if node.outputs else ""
        return UnsupportedOperatorError(
            f"Operator {node.number} of the TFLite file, {node.kind} (it makes {named!r}), {why}.",
            self.place,
            help=help,
        )

    def check_integers(self, node: Node, *tensors: TensorInfo) -> None:
        """Refuse activations that are not int8 or int16 with one scale."""
        for info in tensors:
            if info.dtype not in INTEGERS:
                raise self.refusal(
                    node,
                    f"has the {info.dtype} tensor {info.name!r}",
                    "quantise the whole network to int8 (converter.target_spec.supported_ops = "
                    "[tf.lite.OpsSet.TFLITE_BUILTINS_INT8]) or to int16 with weights of int8.",
                )
            if len(info.scales) != 1:
                raise self.refusal(
                    node,
                    f"has tensor {info.name!r} with {len(info.scales)} scales",
                    "activations have one scale and one zero point.",
                )
