"""From a float graph, its plan and its peaks to one with quantise and dequantise nodes.

Every value that the plan has as int8 is quantised and dequantised again, and so is what a product reads;
weights are held in integers. ``allo/torch/pt2e`` makes integers of that. What the plan leaves in float32
reads ``quantized.dequantize``, which stays an operator of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from allo.models.graph import Meta, Model, Operator, Ref, Stored
from allo.models.integers.editing import array_of, renamed

from ..pt2e.convert import RELU
from ..pt2e.products import PRODUCTS, TRANSPOSED, by_channel, from_channels
from ..running import CHAIN
from .observe import Peaks
from .plan import KEEPING, TABLES, Plan, unsupported
from .weights import Scheme, least_scale, quantize_rows

HIGHEST, LOWEST = 127, -128


def with_nodes(model: Model, plan: Plan, peaks: Peaks, scheme: Scheme) -> Model:
    """The graph with nodes; it has the inputs and the results of the float one."""
    return _Writer(model, plan, peaks, scheme).run()


class _Writer:
    def __init__(self, model: Model, plan: Plan, peaks: Peaks, scheme: Scheme) -> None:
        self.model, self.plan, self.peaks, self.scheme = model, plan, peaks, scheme
        self.made = Model(dict(model.inputs), dict(model.weights), constants=dict(model.constants))
        self.scales: dict[str, float] = {}  # of int8 values
        self.levels: dict[str, str] = {}  # of results that are int8
        self.dequantised: dict[str, str] = {}
        self.floats: dict[
            str, str
        ] = {}  # of int8 values, as float32 for what is not done in integers
        self.slots: dict[str, list[Operator]] = {name: [] for name in ("", *model.inputs)}

    def run(self) -> Model:
        for op in self.model.operators:
            self.slots[op.name] = []
            self._operator(op)
        self.made.outputs = [self._as_float(name) for name in self.model.outputs]
        self.made.operators = [op for slot in self.slots.values() for op in slot]
        return self.made

    def _operator(self, op: Operator) -> None:
        if self._is_done_by_sums(op):
            self.slots[op.name].append(op)
            self._quantised(op, self._scale_of(op.name))
        elif op.target in PRODUCTS:
            self._product(op)
        elif op.target in TABLES:
            self._in_integers(op, self._scale_of(op.name), -HIGHEST)
        elif op.name not in self.plan.ints:
            names = {name: self._as_float(name) for name in op.refs()}
            self.slots[op.name].append(renamed(op, names))
        elif op.target in KEEPING:
            source = next(op.refs())
            self._as_int8(source)
            self._in_integers(op, self.scales[source])
        else:
            self._in_integers(op, self._scale_of(op.name))

    # --- values ---------------------------------------------------------------------------------

    def _scale_of(self, name: str) -> float:
        return (self.peaks.of_value.get(name, 0.0) or 127.0) / HIGHEST

    def _as_int8(self, name: str) -> str:
        """A value as it is dequantised from int8; quantised behind its producer where it is float32."""
        if name in self.dequantised:
            return self.dequantised[name]
        scale, made, array = self._scale_of(name), f"{name}_int8", array_of(self.model, Ref(name))
        if array is not None:
            levels = np.clip(np.rint(array.astype(np.float64) / scale), -HIGHEST, HIGHEST)
            self.made.constants[made] = levels.astype(np.int8)
        else:
            args = {"input": Ref(name), "inverse": float(np.float32(1.0 / scale))}
            self._node(name, made, "quantized.quantize", args, "int8")
        self._dequantise(name, made, scale)
        return self.dequantised[name]

    def _as_float(self, name: str) -> str:
        """A value as float32 (or of its own type, if that is no float)."""
        if name not in self.levels:
            return name
        if name not in self.floats:
            self.floats[name] = f"{name}_float"
            args = {"input": Ref(self.levels[name]), "scale": float(np.float32(self.scales[name]))}
            self._node(name, self.floats[name], "quantized.dequantize", args, "float32")
        return self.floats[name]

    def _quantised(self, op: Operator, scale: float, low: int = LOWEST) -> None:
        """The nodes behind an operator whose result is int8."""
        if any(reader.target == "getitem" for reader in self.plan.readers.get(op.name, [])):
            self.scales[op.name], self.dequantised[op.name] = scale, op.name
            return
        self.levels[op.name] = made = f"{op.name}_levels"
        args = _grid(scale, low)
        target = "quantized_decomposed.quantize_per_tensor.default"
        self._node(op.name, made, target, {"input": Ref(op.name), **args}, "int8")
        self._dequantise(op.name, made, scale)

    def _dequantise(self, name: str, levels: str, scale: float) -> None:
        target = "quantized_decomposed.dequantize_per_tensor.default"
        args = {"input": Ref(levels), **_grid(scale, LOWEST), "out_dtype": None}
        self._node(name, f"{name}_dequantised", target, args, "float32")
        self.scales[name], self.dequantised[name] = scale, f"{name}_dequantised"

    def _node(self, of: str, name: str, target: str, args: dict[str, Any], dtype: str) -> None:
        op, array = self.plan.by_name.get(of), array_of(self.model, Ref(of))
        meta = op.metas[0] if op else self.model.inputs.get(of)
        shape = meta.shape if meta else () if array is None else array.shape
        stack, place = (op.stack, op.place) if op else ((), None)
        slot = self.slots[of if of in self.slots else ""]
        slot.append(Operator(name, target, args, (Meta(shape, dtype),), stack, place))

    # --- operators ------------------------------------------------------------------------------

    def _in_integers(self, op: Operator, scale: float, low: int = LOWEST) -> None:
        names = {name: self._as_int8(name) for name in op.refs()}
        made = renamed(op, names)
        if op.target == CHAIN:
            steps = [renamed(step, names) for step in op.args["steps"]]
            made = replace(made, args={**made.args, "steps": steps})
        self._write(op, made, scale, low)

    def _write(self, op: Operator, made: Operator, scale: float, low: int = LOWEST) -> None:
        self.slots[op.name].append(made)
        if not any(self._is_done_by_sums(r) for r in self.plan.readers.get(op.name, [])):
            self._quantised(op, scale, low)

    def _is_done_by_sums(self, op: Operator) -> bool:
        """Whether an operator is a relu that the sums of its operand have done."""
        source = self.plan.by_name.get(next(op.refs(), ""))
        if op.target != RELU or source is None or source.target in KEEPING | TABLES:
            return False
        alone = len(self.plan.readers[source.name]) == 1 and source.name not in self.model.outputs
        both = {op.name, source.name} <= self.plan.ints
        return alone and both and source.target != "aten.cat.default"

    def _product(self, op: Operator) -> None:
        made = self._weighted(op) if "weight" in op.args else self._of_activations(op)
        if op.name in self.plan.ints:
            self._write(op, made, self._scale_of(op.name))
        else:
            self.slots[op.name].append(made)

    def _of_activations(self, op: Operator) -> Operator:
        return renamed(op, {name: self._as_int8(name) for name in op.refs()})

    def _weighted(self, op: Operator) -> Operator:
        weight, bias = (array_of(self.model, op.args[key]) for key in ("weight", "bias"))
        if weight is None:
            raise unsupported(op)
        source = op.args["input"].name
        given = self._as_int8(source)
        flat, scheme, scale = by_channel(op, weight), self.scheme, self.scales[source]
        if op.target in TRANSPOSED:
            scheme = replace(scheme, group=None)
        bias = np.zeros(len(flat)) if bias is None else bias.astype(np.float64)
        rows = quantize_rows(flat, scheme, least_scale(bias, scale))
        axis, names = (
            int(op.target in TRANSPOSED),
            {k: f"{op.name}_{k}" for k in ("weight", "bias")},
        )
        levels = from_channels(op, rows.rows, weight.shape)
        self.made.stored[names["weight"]] = Stored(
            levels, rows.scale, 0, axis, rows.factors, rows.size
        )
        units = rows.scale * scale
        whole = np.rint(bias / units).astype(np.int32)
        self.made.stored[names["bias"]] = Stored(whole, units, 0, 0)
        if scheme.bits == 4:
            self.made.narrow[names["weight"]] = "int4"
        refs = {key: Ref(name) for key, name in names.items()}
        return replace(op, args={**op.args, "input": Ref(given), **refs})


def _grid(scale: float, low: int) -> dict[str, Any]:
    bounds = {"quant_min": low, "quant_max": HIGHEST, "dtype": "int8"}
    return {"scale": scale, "zero_point": 0, **bounds, "exact": True}
