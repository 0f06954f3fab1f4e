"""From a converted model to a graph of integers.

``quantize … dequantize`` around an operator become that operator on integers: the floats between them are
integers on a grid (:class:`Levels`) or functions of them (:class:`Function`), until something has to have
them as floats. What is not known here stays as it is, in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from allo.models.graph import Meta, Model, Operator, Ref
from allo.models.integers.arithmetic import multipliers
from allo.models.integers.editing import array_of, beside, readers_of, renamed
from allo.models.integers.pointwise import POINTWISE
from allo.models.integers.pools import windowed
from allo.models.operators import VIEWS

from .chains import QUANTIZE, ending_of, grid_of
from .pairs import PAIRS, pair_of
from .pools import POOLS, pool_args
from .products import PRODUCTS, product_of
from .tables import applied, as_levels, every_value, on_grid, whole
from .values import Ending, Function, Grid, Levels

DEQUANTIZE = frozenset(
    f"quantized_decomposed.dequantize_per_tensor.{form}" for form in ("default", "tensor")
)
_PADS = {"aten.constant_pad_nd.default", "aten.pad.default"}
MOVES = {
    *VIEWS,
    *_PADS,
    "aten.repeat.default",
    "aten.roll.default",
    "aten.pixel_shuffle.default",
    "aten.upsample_nearest2d.vec",
}
"""Operators that give elements of their operand, or zeros."""

MAXIMA = {f"aten.max_pool{n}d.default" for n in (1, 2, 3)}
RELU = "aten.relu.default"


def is_converted(model: Model) -> bool:
    """Whether a model has integers of PyTorch's export quantisation."""
    return bool(model.stored) or any(
        op.target in QUANTIZE or op.target in DEQUANTIZE for op in model.operators
    )


@dataclass(frozen=True, slots=True)
class Converted:
    """A graph of integers.

    Attributes:
        graph: it has the inputs and results of the model.
        names: the values of the model that the graph has, and their names there.
        differing: of each sum or product of two activations, on how many of the pairs of their values it
            differs from PyTorch.
    """

    graph: Model
    names: dict[str, str]
    differing: dict[str, int]


def convert(torch: Any, model: Model) -> Converted:
    """The graph of integers of a converted model."""
    windowed(model)
    return _Converter(torch, model).run()


class _Converter:
    def __init__(self, torch: Any, model: Model) -> None:
        self.torch, self.model = torch, model
        self.readers = readers_of(model)
        self.by_name = {op.name: op for op in model.operators}
        self.made = Model(inputs=dict(model.inputs), narrow=dict(model.narrow))
        self.levels: dict[str, Levels] = {}
        self.functions: dict[str, Function] = {}
        self.names: dict[str, str] = {name: name for name in model.inputs}  # what is there already
        self.slots: dict[str, list[Operator]] = {name: [] for name in ("", *model.inputs)}
        self.done: set[str] = set()
        self.paths: set[str] = set()
        self.differing: dict[str, int] = {}

    def run(self) -> Converted:
        for op in self.model.operators:
            self.slots[op.name] = []
            if op.name not in self.done:
                self._operator(op)
        self.made.outputs = [self.given(name) for name in self.model.outputs]
        self.made.operators = [op for slot in self.slots.values() for op in slot]
        return Converted(self.made, self.names, self.differing)

    # --- values ---------------------------------------------------------------------------------

    def given(self, name: str) -> str:
        """The name of a value as the model has it: a float, or the integers of a quantisation."""
        if name in self.names:
            return self.names[name]
        if name in self.functions or name in self.levels:
            self.names[name] = self._as_float(name)
        elif name in self.model.weights:
            self.made.weights[name] = self.model.weights[name]
            self.names[name] = name
        else:
            self.made.constants[name] = self.model.constants[name]
            self.names[name] = name
        return self.names[name]

    def _as_float(self, name: str) -> str:
        shape = self.shape(name)
        op = self.by_name.get(name)
        if op and op.target in DEQUANTIZE:
            self._as_it_is(op)
            return name
        if name in self.levels:
            levels, grid = self.levels[name], self.levels[name].grid
            args = {"input": Ref(levels.name), "scale": grid.scale, "zero_point": grid.zero}
            args |= {"quant_min": grid.low, "quant_max": grid.high, "dtype": grid.dtype}
            target = "quantized_decomposed.dequantize_per_tensor.default"
            return self.emit(name, target, {**args, "out_dtype": None}, Meta(shape, "float32"))
        function = self.functions[name]
        values = function.values.astype(np.float32)
        return self._looked_up(name, function, values, Meta(shape, "float32"))

    def as_levels(self, name: str) -> Levels | None:
        """A float value as integers, or None where it has none."""
        if name in self.levels:
            return self.levels[name]
        if name in self.functions:
            table = as_levels(self.functions[name])
            if table is None:
                return None
            grid = self.functions[name].of.grid
            made = f"{name}_levels"
            self._looked_up(
                name, self.functions[name], table, Meta(self.shape(name), grid.dtype), made
            )
            self.levels[name] = Levels(made, grid)
            return self.levels[name]
        stored = self.model.stored.get(name)
        if stored is None or np.ndim(stored.scale) or np.ndim(stored.zero):
            return None
        kind = np.iinfo(stored.levels.dtype)
        made = f"{name}_levels"
        self.made.weights[made] = (self.model.weights[name][0], stored.levels)
        low, high, dtype = int(kind.min), int(kind.max), stored.levels.dtype.name
        self.levels[name] = Levels(
            made, Grid(float(stored.scale), int(stored.zero), low, high, dtype)
        )
        return self.levels[name]

    def function(self, name: str) -> Function | None:
        """A float value as a function of integers of eight bits, or None."""
        if name in self.functions:
            return self.functions[name]
        levels = self.levels.get(name)
        if levels is None or levels.grid.bits != 8:
            return None
        return whole(levels)

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a value."""
        op = self.by_name.get(name)
        meta = op.metas[0] if op else self.model.inputs.get(name)
        array = array_of(self.model, Ref(name))
        return meta.shape if meta else () if array is None else tuple(array.shape)

    def _looked_up(
        self, of: str, function: Function, table: Any, meta: Meta, name: str | None = None
    ) -> str:
        made = name or of
        self.made.constants[f"{made}_table"] = table
        first = int(every_value(function.of.grid)[0])
        op = self.by_name[of]
        args = {"input": Ref(function.of.name), "table": Ref(f"{made}_table"), "offset": -first}
        kind = "lookup" if op.target in QUANTIZE | DEQUANTIZE else op.args.get("function", op.kind)
        return self.emit(of, "quantized.lookup", {**args, "function": kind}, meta, made)

    def emit(
        self, at: str, target: str, args: Mapping[str, Any], meta: Meta, name: str | None = None
    ) -> str:
        """A new operator where the operator ``at`` stood; its arrays become weights of that module."""
        op = self.by_name.get(at)
        held = {key: self._kept(at, key, value) for key, value in args.items()}
        made = (
            beside(op, name or at, target, held, meta)
            if op
            else Operator(name or at, target, held, (meta,), (), None)
        )
        self.slots[at if at in self.slots else ""].append(made)
        return made.name

    def _kept(self, at: str, key: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        op = self.by_name[at]
        name = f"{at}_{key}"
        own = op.args.get(key)
        known = self.model.weights.get(own.name) if isinstance(own, Ref) else None
        path = f"{op.path}.{key}" if op.path else known[0] if known else name
        if path in self.paths:
            path = f"{op.path}.{name}" if op.path else name
        self.paths.add(path)
        self.made.weights[name] = (path, value)
        return Ref(name)

    # --- operators ------------------------------------------------------------------------------

    def _operator(self, op: Operator) -> None:
        if op.target in QUANTIZE:
            self._quantize(op)
        elif op.target in DEQUANTIZE and self._dequantize(op):
            return
        elif not self._in_integers(op):
            self._as_it_is(op)

    def _as_it_is(self, op: Operator) -> None:
        names = {name: self.given(name) for name in op.refs()}
        self.slots[op.name].append(renamed(op, names))
        self.names[op.name] = op.name

    def _quantize(self, op: Operator) -> None:
        source, grid = op.args["input"].name, grid_of(self.model, op)
        function = self.function(source) if grid else None
        if function is None or grid is None:
            self._as_it_is(op)
            return
        table = on_grid(function, grid)
        kept = [int(level) for level in every_value(function.of.grid)]
        inside = slice(kept.index(function.of.grid.low), kept.index(function.of.grid.high) + 1)
        same_type = grid.dtype == function.of.grid.dtype
        if same_type and np.array_equal(table[inside], function.of.grid.levels):
            self.names[op.name] = function.of.name
            return
        meta = Meta(self.shape(op.name), grid.dtype)
        self.names[op.name] = self._looked_up(op.name, function, table, meta)

    def _dequantize(self, op: Operator) -> bool:
        grid, meta = grid_of(self.model, op), op.metas[0]
        if grid is None or meta is None or meta.dtype != "float32":
            return False
        self.levels[op.name] = Levels(self.given(op.args["input"].name), grid)
        return True

    def _in_integers(self, op: Operator) -> bool:
        meta = op.metas[0]
        if op.target in PRODUCTS:
            return self._product(op)
        if op.target == "getitem" or (op.target in VIEWS and not _is_pointwise(op)):
            return self._view(op)
        if meta is None or meta.dtype != "float32":
            return False
        if self._keeps_grid(op):
            return self._kept_grid(op)
        ending = ending_of(self.model, self.readers, op)
        build = _BUILDERS.get(op.target)
        if ending and ending.grid.exact:
            return (build or _Converter._table)(self, op, ending)
        if op.target in POINTWISE and self._function(op):
            return True
        return ending is not None and build is not None and build(self, op, ending)

    def _keeps_grid(self, op: Operator) -> bool:
        """Whether the levels of the result are among those of the operand, or 0."""
        if op.target in (MAXIMA | MOVES) - VIEWS:
            return True
        levels = self.levels.get(next(op.refs(), ""))
        return bool(levels and levels.grid.exact and op.target in VIEWS | {RELU})

    def _table(self, op: Operator, ending: Ending) -> bool:
        """A function of integers that becomes integers at once."""
        source = next(op.refs())
        function = self.function(source)
        if function is None:
            return False
        table = on_grid(applied(self.torch, op, {source: function}), ending.grid)
        self._looked_up(op.name, function, table, Meta(self.shape(op.name), ending.grid.dtype))
        self._is_done(op.name, ending)
        return True

    def _pair(self, op: Operator, ending: Ending) -> bool:
        names = [op.args[key] for key in ("self", "other")]
        if not all(isinstance(ref, Ref) for ref in names):
            return False
        left, right = (self.as_levels(ref.name) for ref in names)
        found = pair_of(self.torch, op, left, right, ending) if left and right else None
        if found is None:
            return False
        args, self.differing[op.name] = found
        kind = "mul" if "multiplier" in args else "add"
        self._ends(op, ending, f"quantized.{kind}", args)
        return True

    def _pool(self, op: Operator, ending: Ending) -> bool:
        source = op.args["self"].name
        levels = self.as_levels(source)
        args = pool_args(op, levels, self.shape(source), ending) if levels else None
        if args is None:
            return False
        kind = "mean" if "dim" in args else "avg_pool"
        self._ends(op, ending, f"quantized.{kind}", args)
        return True

    def _cat(self, op: Operator, ending: Ending) -> bool:
        """Each part by a table, or a product, onto the grid of the result."""
        key = "tensors"
        if ending.grid.exact:
            parts = [self._rescaled(op, k, ref.name, ending) for k, ref in enumerate(op.args[key])]
            self._ends(op, ending, op.target, {**op.args, key: [Ref(part) for part in parts]})
            return True
        functions = {ref.name: self.function(ref.name) for ref in op.args[key]}
        if not all(functions.values()) or ending.grid.bits != 8:
            return False
        tables = {}
        for number, (name, function) in enumerate(functions.items()):
            if function is None:
                continue
            table = np.clip(on_grid(function, ending.grid), ending.low, ending.high)
            meta = Meta(self.shape(name), ending.grid.dtype)
            made = f"{op.name}_part{number}"
            tables[name] = self._looked_up(op.name, function, table.astype(meta.dtype), meta, made)
        args = {**op.args, key: [Ref(tables[ref.name]) for ref in op.args[key]]}
        self._ends(op, ending, op.target, args)
        return True

    def _rescaled(self, op: Operator, number: int, source: str, ending: Ending) -> str:
        """A part of what is put side by side, on the grid of the result."""
        levels = self.levels[source]
        if levels.grid.scale == ending.grid.scale:
            return levels.name
        ratio = ending.grid.ratio(np.asarray(levels.grid.scale))
        factor, shift = multipliers(ratio, levels.grid.largest)
        args = {"input": Ref(levels.name), "multiplier": int(factor), "shift": shift}
        meta = Meta(self.shape(source), ending.grid.dtype)
        return self.emit(op.name, "quantized.rescale", args, meta, f"{op.name}_part{number}")

    def _ends(self, op: Operator, ending: Ending, target: str, args: Mapping[str, Any]) -> None:
        """Write an operator whose result is integers; those of its ending are done with it."""
        self.emit(op.name, target, args, Meta(self.shape(op.name), ending.grid.dtype))
        self._is_done(op.name, ending)

    def _is_done(self, made: str, ending: Ending) -> None:
        for step in ending.steps:
            self.slots[step.name] = []
            self.done.add(step.name)
            self.names[step.name] = made

    def _view(self, op: Operator) -> bool:
        source = next(op.refs())
        function = self.functions.get(source)
        levels = function.of if function else self.levels.get(source)
        if levels is None:
            return False
        metas = tuple(m and replace(m, dtype=levels.grid.dtype) for m in op.metas)
        self.slots[op.name].append(replace(renamed(op, {source: levels.name}), metas=metas))
        moved = Levels(op.name, levels.grid)
        if function:
            self.functions[op.name] = Function(moved, function.values)
        else:
            self.levels[op.name] = moved
        return True

    def _function(self, op: Operator) -> bool:
        shape = self.shape(op.name)
        operands = {name: self.function(name) for name in op.refs()}
        known = {name: of for name, of in operands.items() if of and self.shape(name) == shape}
        if not known or len(known) < len(operands) or len({f.of for f in known.values()}) > 1:
            return False
        self.functions[op.name] = applied(self.torch, op, known)
        return True

    def _kept_grid(self, op: Operator) -> bool:
        source = next(op.refs())
        levels = self.as_levels(source)
        if levels is None:
            return False
        made = renamed(op, {source: levels.name})
        if op.target in _PADS:
            if op.args.get("value") or op.args.get("mode", "constant") != "constant":
                return False
            made = replace(made, args={**made.args, "value": levels.grid.zero})
        metas = tuple(m and replace(m, dtype=levels.grid.dtype) for m in op.metas)
        self.slots[op.name].append(replace(made, metas=metas))
        self.levels[op.name] = Levels(op.name, levels.grid)
        return True

    def _product(self, op: Operator) -> bool:
        depth = (self.shape(next(op.refs())) or (1,))[-1]
        found = product_of(self.model, op, self.as_levels, depth)
        if found is None:
            return False
        ending = ending_of(self.model, self.readers, op)
        if ending:
            self._ends(op, ending, found.target, found.arguments(ending))
        else:
            meta = Meta(self.shape(op.name), "float32")
            self.names[op.name] = self.emit(op.name, found.target, found.arguments(None), meta)
        return True


def _is_pointwise(op: Operator) -> bool:
    return op.target in ("aten.clone.default", "aten.alias.default")


_BUILDERS: dict[str, Callable[[_Converter, Operator, Ending], bool]] = {
    **dict.fromkeys(PAIRS, _Converter._pair),
    **dict.fromkeys(POOLS, _Converter._pool),
    "aten.cat.default": _Converter._cat,
}
