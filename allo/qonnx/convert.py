"""From the nodes of a file to a graph of levels.

Every tensor is a constant, or a function of levels or of floats, element by element
(:class:`~allo.qonnx.values.Function`), until something has to have it: a quantiser makes levels of it, a
product wants integers, and a result of the model or an operator on floats wants floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from allo.dialects.text.free_name import free_name
from allo.dialects.text.near import did_you_mean
from allo.models.graph import Meta, Model, ModuleCall, Operator, Ref
from allo.models.text import identifier

from .chains import POINTWISE, extended, joined
from .constants import constant_of, shape_constant, with_integers
from .curves import curve
from .functions import Table, Thresholds, cells, extents, quantised, table_of
from .quantisers import QUANTISERS, Grid, grid_of
from .reading import Array, Graph, Node
from .values import Affine, Constant, Floats, Function, Levels, type_of

_TABLE = 1 << 12
"""Elements of a table of floats that an affine function may become; above it, it is computed."""
_TABLE_OF_CURVE = 1 << 16
"""Elements of a table of floats that any other function may become."""


Builder = Callable[["Converter", Node], None]


class Converter:
    """The state of a conversion.

    Attributes:
        graph: what is read.
        made: what is written.
        values: of the tensors of ``graph``, what is known.
        levels: of the tensors that are levels in ``made``, the names there and the grid.
        builders: what converts the nodes that are not pointwise.
        accept_error: how wrong a sum of two scales may be, in units of its second operand.
        done: the paths of nodes that were converted with one before them.
    """

    def __init__(
        self, graph: Graph, builders: Mapping[str, Builder], accept_error: float = 0.0
    ) -> None:
        self.graph = graph
        self.builders = builders
        self.accept_error = accept_error
        self.done: set[str] = set()
        self.made = Model()
        self.values: dict[str, Constant | Function] = {
            name: with_integers(Constant(array)) for name, array in graph.constants.items()
        }
        self.levels: dict[str, tuple[str, Grid]] = {}
        self.names: set[str] = set()
        self.floats: dict[str, str] = {}

    def run(self) -> Model:
        """The graph of levels.

        Raises:
            UnsupportedOperatorError: a node that is not supported, or not in this form.
        """
        for node in self.graph.nodes:
            if node.path not in self.done:
                self.node(node)
        self.made.outputs = [self.as_floats(name) for name in self.graph.outputs]
        return self.made

    def node(self, node: Node) -> None:
        """Convert one node."""
        shape = shape_constant(node, self.graph.shapes)
        if shape is not None:
            self.values[node.outputs[0]] = Constant(shape)
            return
        given = [self.values[name] if name else None for name in node.inputs]
        if all(value is None or isinstance(value, Constant) for value in given):
            constants = [value if isinstance(value, Constant) else None for value in given]
            self.values[node.outputs[0]] = with_integers(constant_of(node, constants))
            return
        functions = [
            name for name, v in zip(node.inputs, given, strict=True) if isinstance(v, Function)
        ]
        if node.op in QUANTISERS or (node.op in POINTWISE and len(functions) == 1):
            self._pointwise(node, functions)
            return
        joint = joined(node, given)
        if joint is not None:
            self.values[node.outputs[0]] = joint
            return
        build = self.builders.get(node.op)
        if build is None:
            known = {*POINTWISE, *self.builders}
            near = did_you_mean(node.op, known, cutoff=0.7)
            raise node.refusal(
                "which is not supported" if node.op not in POINTWISE else "of two tensors",
                f"{near}supported operators are {', '.join(sorted(known))}.",
            )
        build(self, node)

    def quantised_before(self, node: Node) -> Node | None:
        """Convert the quantiser behind a node before it, where one for the whole tensor reads the node alone.

        Returns:
            The node, from the quantiser's levels to the quantiser's result.
        """
        readers = [n for n in self.graph.nodes if node.outputs[0] in n.inputs]
        if len(readers) != 1 or readers[0].op not in QUANTISERS:
            return None
        quantiser = readers[0]
        parameters = [self._array(name) for name in quantiser.inputs[1:]]
        whole = all(a is not None and np.unique(a).size <= 1 for a in parameters)
        if not whole and node.op != "MaxPool":  # a pool keeps the channels where they are
            return None
        between = f"{quantiser.outputs[0]}.before"
        self.graph.shapes[between] = self.graph.shapes[node.inputs[0]]
        inputs = (node.inputs[0], *quantiser.inputs[1:])
        self.node(replace(quantiser, inputs=inputs, outputs=(between,)))
        self.levels.pop(between, None)
        self.done.add(quantiser.path)
        return replace(node, inputs=(between, *node.inputs[1:]), outputs=quantiser.outputs)

    # --- values ---------------------------------------------------------------------------------

    def function(self, node: Node, place: int) -> Function:
        """An input of a node that depends on inputs of the model.

        Raises:
            UnsupportedOperatorError: it is a constant.
        """
        value = self.values[node.inputs[place]]
        if not isinstance(value, Function):
            raise node.refusal(
                f"with a constant as input {place}", "constants stand behind the data."
            )
        return value

    def settled(self, node: Node, place: int) -> Function:
        """As :meth:`function`, for a node that wants integers.

        A function that is not affine, such as ``Relu`` of levels, becomes levels by a table where its
        values are multiples of the unit.
        """
        value = self.function(node, place)
        of, start = value.of, value.start
        if value.affine or isinstance(of, Floats) or start is None or start.scale.size > 1:
            return value
        if np.prod(extents(value)) > 1 or cells(value, of) > _TABLE_OF_CURVE:
            return value
        table, unit = (
            table_of(value, of).table.astype(np.float64),
            float(start.scale.reshape(-1)[0]),
        )
        whole = np.rint(table / unit)
        if not np.array_equal((whole * unit).astype(np.float32), table.astype(np.float32)):
            return value
        levels = Levels("", of.shape, int(whole.min()), int(whole.max()))
        found = Table((), whole.astype(np.int64))
        meta = Meta(of.shape, levels.dtype)
        name = self._looked_up(node, of, found, levels.dtype, meta)
        self.define(
            node.inputs[place], replace(levels, name=name), Affine(start.scale, 0 * start.scale)
        )
        return self.function(node, place)

    def constant(self, node: Node, place: int) -> Constant | None:
        """An input of a node that is constant; None where it is left out.

        Raises:
            UnsupportedOperatorError: it depends on an input of the model.
        """
        if place >= len(node.inputs) or not node.inputs[place]:
            return None
        value = self.values[node.inputs[place]]
        if not isinstance(value, Constant):
            raise node.refusal(
                f"whose input {place} depends on the input", "it has to be constant."
            )
        return value

    def emit(
        self, node: Node | None, target: str, args: Mapping[str, Any], meta: Meta, name: str = ""
    ) -> str:
        """A new operator in the module of a node; its arrays become weights there."""
        stem = identifier(name or (node.outputs[0] if node else "input"))
        made = self.fresh(stem if not stem[0].isdigit() else f"m{stem}")
        stack = (ModuleCall(node.path, node.path, node.op),) if node else ()
        held = {}
        for key, value in args.items():
            if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], np.ndarray):
                held[key] = self._kept(node, made, key, *value)
            else:
                held[key] = value
        self.made.operators.append(Operator(made, target, held, (meta,), stack, None))
        return made

    def fresh(self, stem: str) -> str:
        """A name that no value of the graph has."""
        name = free_name(stem, self.names)
        self.names.add(name)
        return name

    def _kept(self, node: Node | None, made: str, key: str, array: Array, dtype: str) -> Ref:
        """An array with its element type, as a weight of the module."""
        name = self.fresh(f"{made}_{key}")
        start = f"{node.path}." if node else ""
        paths = {path for path, _ in self.made.weights.values()}
        path = f"{start}{key}" if f"{start}{key}" not in paths else f"{start}{name}"
        held = array
        if dtype != "float32":
            bits = int(dtype.strip("uint"))
            size = next(n for n in (8, 16, 32, 64) if n >= bits)
            held = array.astype(f"{'u' if dtype[0] == 'u' else ''}int{size}")
            self.made.narrow[name] = dtype
        self.made.weights[name] = (path, np.ascontiguousarray(held))
        return Ref(name)

    def define(self, tensor: str, levels: Levels, affine: Affine) -> None:
        """A tensor is levels, which stand for these real values."""
        short = affine.compressed()
        self.values[tensor] = Function(levels, short, (), short)

    # --- one element at a time ------------------------------------------------------------------

    def _pointwise(self, node: Node, functions: list[str]) -> None:
        given = [self._array(name) for name in node.inputs]
        if len(functions) > 1 or node.inputs[0] != functions[0] and node.op in QUANTISERS:
            raise node.refusal(
                "with a scale, zero point or width that depends on the input",
                "parameters of quantisers are constants: export with fixed scales.",
            )
        source = self.function(node, node.inputs.index(functions[0]))
        function = extended(source, node, given)
        if node.op not in QUANTISERS:
            self.values[node.outputs[0]] = function
            return
        grid = grid_of(node, given, len(function.shape))
        found = quantised(function, grid)
        if found is None:
            raise node.refusal(
                "of a function that neither rises nor falls, over too many levels for a table",
                "quantise before the function too: a table of up to 4 million elements is made.",
            )
        self.quantised(node, function, found, grid)

    def _array(self, name: str) -> Array | None:
        value = self.values[name] if name else None
        return value.array if isinstance(value, Constant) else None

    def quantised(
        self, node: Node, function: Function, found: Thresholds | Table, grid: Grid
    ) -> None:
        """Emit thresholds or a table; the node's result is levels then."""
        tensor = node.outputs[0]
        of = function.of
        if grid.values is not None and isinstance(found, Table):
            found, grid = replace(found, table=grid.values[found.table]), replace(grid, values=None)
        if isinstance(found, Table):
            low, high = int(found.table.min()), int(found.table.max())
        else:
            low, high = found.first, found.first + found.count
        levels = Levels("", of.shape, low, high)
        meta = Meta(of.shape, levels.dtype)
        if isinstance(found, Thresholds):
            args: dict[str, Any] = {
                "input": Ref(of.name),
                "table": (found.table, found.dtype),
                "axes": list(found.axes),
                "count": found.count,
                "first": found.first,
            }
            if found.falling is not None:
                args["falling"] = (found.falling, "uint1")
            name = self.emit(node, "levels.thresholds", args, meta)
        elif isinstance(of, Levels):
            name = self._looked_up(node, of, found, levels.dtype, meta)
        else:  # a constant function of floats
            args = {"input": Ref(of.name), "scale": 0.0, "offset": float(low), "axes": []}
            name = self.emit(node, "levels.scaled", args, meta)
        if grid.values is not None:  # the levels are numbers of values until here
            numbers, kept = Levels(name, of.shape, low, high), grid.values[low : high + 1]
            low, high = int(kept.min()), int(kept.max())
            meta = Meta(of.shape, type_of(low, high))
            name = self._looked_up(node, numbers, Table((), kept), meta.dtype, meta)
        self.levels[tensor] = (name, grid)
        self.define(tensor, Levels(name, of.shape, low, high), grid.affine)

    def _looked_up(
        self, node: Node | None, of: Levels, found: Table, dtype: str, meta: Meta
    ) -> str:
        if found.table.size == of.high - of.low + 1 and dtype != "float32":
            flat = found.table.reshape(-1)
            if np.array_equal(flat, np.arange(of.low, of.high + 1)):
                return of.name  # the levels are those already
        table = found.table
        if table.shape[-1] == 1 and of.high > of.low:
            table = np.repeat(table, of.high - of.low + 1, -1)
        args = {
            "input": Ref(of.name),
            "table": (table, dtype),
            "axes": list(found.axes),
            "low": of.low,
        }
        return self.emit(node, "levels.table", args, meta)

    # --- floats ---------------------------------------------------------------------------------

    def as_floats(self, tensor: str, node: Node | None = None) -> str:
        """The name of a tensor as float32 in the graph that is made.

        Raises:
            UnsupportedOperatorError: a function of too many levels for a table that is not affine.
        """
        if tensor in self.floats:
            return self.floats[tensor]
        value = self.values[tensor]
        if isinstance(value, Constant):
            name = self.fresh(identifier(f"constant_{tensor}"))
            self.made.constants[name] = value.array.astype(np.float32)
        else:
            name = self._float(tensor, value, node or self._maker(tensor))
        self.floats[tensor] = name
        return name

    def _maker(self, tensor: str) -> Node | None:
        return next((node for node in self.graph.nodes if tensor in node.outputs), None)

    def _float(self, tensor: str, value: Function, node: Node | None) -> str:
        of = value.of
        meta = Meta(of.shape, "float32")
        if isinstance(of, Floats):
            return self._curve(value, of.name)
        if cells(value, of) <= (_TABLE if value.affine else _TABLE_OF_CURVE):
            return self._looked_up(node, of, table_of(value, of), "float32", meta)
        if value.affine:
            return self._affine(node, of, value.affine)
        start = value.start or Affine(np.ones(()), np.zeros(()))
        return self._curve(value, self._affine(node, of, start))

    def _affine(self, node: Node | None, of: Levels, affine: Affine) -> str:
        ext = np.broadcast_shapes(affine.scale.shape, affine.offset.shape)
        axes = [axis for axis, extent in enumerate(ext) if extent > 1]
        args: dict[str, Any] = {"input": Ref(of.name), "axes": axes}
        for key, array in (("scale", affine.scale), ("offset", affine.offset)):
            flat = np.broadcast_to(array, ext).astype(np.float32)
            if axes:
                args[key] = (flat.reshape([ext[axis] for axis in axes]), "float32")
            else:
                args[key] = float(flat.reshape(-1)[0])
        return self.emit(node, "levels.scaled", args, Meta(of.shape, "float32"))

    def _curve(self, value: Function, name: str) -> str:
        """A chain on floats, as ATen operators."""
        return curve(value, name, self.emit, self._held)

    def _held(self, array: Array) -> str:
        name = self.fresh("operand")
        self.made.constants[name] = array
        return name


def real_of(function: Function, node: Node, what: str) -> tuple[Levels, Array, int, int]:
    """Levels, unit, factor and shift of a tensor that a product reads.

    Raises:
        UnsupportedOperatorError: the tensor is not ``unit * (factor * level + shift)``.
    """
    of = function.of
    found = function.affine.integers() if function.affine and isinstance(of, Levels) else None
    if found is None or not isinstance(of, Levels):
        raise node.refusal(
            f"of {what} that is no multiple of integers: the nearest integers would be wrong by up to "
            "half a unit in each element",
            "quantise it by a Quant node, whose zero point is a whole number, or take float32 by "
            "leaving its other operand without a quantiser.",
        )
    unit, factor, shift = found
    return of, unit, factor, shift
