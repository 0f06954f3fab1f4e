"""From a float graph, its plan and its peaks to a graph of integer operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..graph import Meta, Model, Operator, Ref
from ..integers.arithmetic import Array, multipliers, sum_type
from ..integers.editing import array_of, beside, renamed
from ..integers.running import FloatModel
from ..operators.convolutions import named_padding
from .observe import Peaks
from .plan import KEEPING, PRODUCTS, TABLES, TRANSPOSED, Plan, unsupported
from .weights import Scheme, least_scale, quantize_rows

HIGHEST, LOWEST = 127, -128
_RELU = "aten.relu.default"
_INPUT = ""


def convert(model: Model, plan: Plan, peaks: Peaks, runner: FloatModel, scheme: Scheme) -> Model:
    """The integer graph; it has the inputs and the results of the float one."""
    return _Converter(model, plan, peaks, runner, scheme).run()


class _Converter:
    def __init__(
        self, model: Model, plan: Plan, peaks: Peaks, runner: FloatModel, scheme: Scheme
    ) -> None:
        self.model, self.plan, self.peaks = model, plan, peaks
        self.runner, self.scheme = runner, scheme
        self.made = Model(inputs=dict(model.inputs))
        self.ints: dict[str, tuple[str, float]] = {}  # int8 values: name and scale
        self.floats: dict[str, str] = {}
        self.slots: dict[str, list[Operator]] = {_INPUT: []}
        self.paths: set[str] = set()

    def run(self) -> Model:
        for name in self.model.inputs:
            self.slots[name] = []
            self.floats[name] = name
        for op in self.model.operators:
            self.slots[op.name] = []
            self._operator(op)
        self.made.outputs = [self._as_float(name) for name in self.model.outputs]
        self.made.operators = [op for slot in self.slots.values() for op in slot]
        return self.made

    def _operator(self, op: Operator) -> None:
        if op.name in self.ints:  # a relu that its operand's sums have done
            return
        if op.target in PRODUCTS:
            self._product(op)
        elif op.target in TABLES:
            self._table(op)
        elif op.name not in self.plan.ints:
            self._in_float(op)
        elif op.target in KEEPING:
            self._keeping(op)
        else:
            _ARITHMETIC[op.target](self, op)

    # --- values ---------------------------------------------------------------------------------

    def _scale_of(self, name: str) -> float:
        return (self.peaks.of_value.get(name, 0.0) or 127.0) / HIGHEST

    def _as_int8(self, name: str) -> tuple[str, float]:
        """A value as int8, quantised behind its producer where it is float32."""
        if name in self.ints:
            return self.ints[name]
        scale = self._scale_of(name)
        array = array_of(self.model, Ref(name))
        made = f"{name}_int8"
        if array is not None:
            levels = np.clip(np.rint(array.astype(np.float64) / scale), -HIGHEST, HIGHEST)
            self.made.constants[made] = levels.astype(np.int8)
        else:
            inverse = float(np.float32(1.0 / scale))
            args = {"input": Ref(self.floats[name]), "inverse": inverse}
            self._convert(name, made, "quantized.quantize", args, "int8")
        self.ints[name] = (made, scale)
        return self.ints[name]

    def _as_float(self, name: str) -> str:
        """A value as float32 (or of its own type, if that is no float)."""
        if name in self.floats:
            return self.floats[name]
        if name in self.ints:
            source, scale = self.ints[name]
            args = {"input": Ref(source), "scale": float(np.float32(scale))}
            self._convert(name, f"{name}_float", "quantized.dequantize", args, "float32")
            self.floats[name] = f"{name}_float"
        elif name in self.model.weights:
            self.made.weights[name] = self.model.weights[name]
            self.floats[name] = name
        else:
            self.made.constants[name] = self.model.constants[name]
            self.floats[name] = name
        return self.floats[name]

    def _convert(self, of: str, name: str, target: str, args: dict[str, Any], dtype: str) -> None:
        op = self.plan.by_name.get(of)
        shape = (op.metas[0] if op else self.model.inputs[of]) or Meta((), dtype)
        stack, place = (op.stack, op.place) if op else ((), None)
        meta = Meta(shape.shape, dtype)
        self.slots[of].append(Operator(name, target, args, (meta,), stack, place))

    def _emit(self, op: Operator, target: str, args: dict[str, Any], dtype: str = "int8") -> None:
        meta = Meta(op.metas[0].shape if op.metas[0] else (), dtype)
        self.slots[op.name].append(beside(op, op.name, target, args, meta))

    def _keep_weight(self, op: Operator, key: str, array: Array, narrow: str | None = None) -> Ref:
        """An array of an operator, under the path of its module where that is free."""
        name = f"{op.name}_{key}"
        path = f"{op.path}.{key}" if op.path else name
        if path in self.paths:
            path = f"{op.path}.{name}"
        self.paths.add(path)
        self.made.weights[name] = (path, array)
        if narrow:
            self.made.narrow[name] = narrow
        return Ref(name)

    # --- operators ------------------------------------------------------------------------------

    def _in_float(self, op: Operator) -> None:
        names = {name: self._as_float(name) for name in op.refs()}
        self.slots[op.name].append(renamed(op, names))
        self.floats[op.name] = op.name

    def _keeping(self, op: Operator) -> None:
        source = next(op.refs())
        name, scale = self._as_int8(source)
        metas = tuple(m and replace(m, dtype="int8") for m in op.metas)
        self.slots[op.name].append(replace(renamed(op, {source: name}), metas=metas))
        self.ints[op.name] = (op.name, scale)

    def _result(self, op: Operator) -> tuple[float, int]:
        """The scale of an int8 result, and its lowest value: 0 where only a relu reads it."""
        readers = self.plan.readers.get(op.name, [])
        relu = readers[0] if len(readers) == 1 and op.name not in self.model.outputs else None
        if relu and relu.target == _RELU and relu.name in self.plan.ints:
            scale = self._scale_of(relu.name)
            self.ints[op.name] = self.ints[relu.name] = (op.name, scale)
            return scale, 0
        scale = self._scale_of(op.name)
        self.ints[op.name] = (op.name, scale)
        return scale, LOWEST

    def _ending(self, op: Operator, scales: Array, bound: int) -> dict[str, Any]:
        """The arguments that say what becomes of sums in units of ``scales`` (one, or of each channel)."""
        args: dict[str, Any] = {"sums": sum_type(bound)}
        if op.name not in self.plan.ints:
            self.floats[op.name] = op.name
            single = scales.astype(np.float32)
            args["scale"] = self._keep_weight(op, "scale", single) if scales.ndim else float(single)
            return args
        scale, args["low"] = self._result(op)
        factors, args["shift"] = multipliers(scales / scale, bound)
        args["multiplier"] = (
            self._keep_weight(op, "multiplier", factors) if scales.ndim else int(factors)
        )
        return args

    def _dtype(self, op: Operator) -> str:
        return "int8" if op.name in self.plan.ints else "float32"

    def _product(self, op: Operator) -> None:
        weight = array_of(self.model, op.args["weight"]) if "weight" in op.args else None
        if weight is None and "weight" in op.args:
            raise unsupported(op)
        if weight is None:
            self._matmul(op)
            return
        source, scale = self._as_int8(op.args["input"].name)
        bias = array_of(self.model, op.args["bias"])
        flat, scheme = by_channel(op, weight), self.scheme
        if op.target in TRANSPOSED:
            scheme = replace(scheme, group=None)
        bias = np.zeros(len(flat)) if bias is None else bias.astype(np.float64)
        rows = quantize_rows(flat, scheme, least_scale(bias, scale))
        units = rows.scale * scale
        whole = np.rint(bias / units).astype(np.int32)
        sums = np.abs(rows.effective()).sum(1) * -LOWEST + np.abs(whole.astype(np.int64))
        narrow = "int4" if self.scheme.bits == 4 else None
        held = self._keep_weight(op, "weight", from_channels(op, rows.rows, weight.shape), narrow)
        args: dict[str, Any] = {"input": Ref(source), "weight": held}
        args["bias"] = self._keep_weight(op, "bias", whole)
        if rows.factors is not None:
            args["factors"] = self._keep_weight(op, "factors", rows.factors)
            args["factor_size"] = rows.size
        if "stride" in op.args:
            args |= _window(op, weight)
        target = f"quantized.{op.target.split('.')[1]}"
        self._emit(
            op, target, {**args, **self._ending(op, units, int(sums.max()))}, self._dtype(op)
        )

    def _matmul(self, op: Operator) -> None:
        keys = [op.args["self"], op.args["mat2" if "mat2" in op.args else "other"]]
        (left, first), (right, second) = (self._as_int8(ref.name) for ref in keys)
        args = {"self": Ref(left), "other": Ref(right)}
        bound = self._depth(keys[0].name) * LOWEST * LOWEST
        ending = self._ending(op, np.asarray(first * second), bound)
        self._emit(op, "quantized.matmul", {**args, **ending}, self._dtype(op))

    def _depth(self, name: str) -> int:
        op = self.plan.by_name.get(name)
        meta = op.metas[0] if op else self.model.inputs.get(name)
        array = array_of(self.model, Ref(name))
        shape = array.shape if array is not None else meta.shape if meta else (1,)
        return int(shape[-1])

    def _table(self, op: Operator) -> None:
        source, scale = self._as_int8(op.args["self"].name)
        levels = np.arange(LOWEST, HIGHEST + 1) * scale
        torch = self.runner.torch
        given = torch.from_numpy(levels.astype(np.float32))
        found = self.runner.applied(op, given).double().numpy()
        out = self._scale_of(op.name)
        levels = np.nan_to_num(
            np.rint(found / out)
        )  # NaN where no input is, as a root of negatives
        table = np.clip(levels, -HIGHEST, HIGHEST).astype(np.int8)
        name = f"{op.name}_table"
        self.made.constants[name] = table
        kind = op.args.get("function", op.kind)
        args = {"input": Ref(source), "table": Ref(name), "function": kind}
        self._emit(op, "quantized.lookup", args)
        self.ints[op.name] = (op.name, out)

    def _add(self, op: Operator, sign: int = 1) -> None:
        names = ("self", "other")
        (left, first), (right, second) = (self._as_int8(op.args[n].name) for n in names)
        scale, low = self._result(op)
        alpha = op.args.get("alpha", 1)
        ratios = np.array([first, sign * alpha * second]) / scale
        factors, shift = multipliers(ratios, 2 * -LOWEST)
        args = {"self": Ref(left), "other": Ref(right), "shift": shift, "low": low}
        args |= {"first": int(factors[0]), "second": int(factors[1])}
        self._emit(op, "quantized.add", args)

    def _sub(self, op: Operator) -> None:
        self._add(op, -1)

    def _mul(self, op: Operator) -> None:
        names = ("self", "other")
        (left, first), (right, second) = (self._as_int8(op.args[n].name) for n in names)
        scale, low = self._result(op)
        factor, shift = multipliers(np.asarray(first * second / scale), LOWEST * LOWEST)
        args = {"self": Ref(left), "other": Ref(right), "shift": shift, "low": low}
        self._emit(op, "quantized.mul", {**args, "multiplier": int(factor)})

    def _cat(self, op: Operator) -> None:
        scale = self._scale_of(op.name)
        parts = [self._as_int8(ref.name) for ref in op.args["tensors"]]
        refs = []
        for number, ((name, own), ref) in enumerate(zip(parts, op.args["tensors"], strict=True)):
            if own != scale:
                part = self.plan.by_name.get(ref.name)
                meta = part.metas[0] if part else self.model.inputs.get(ref.name)
                array = array_of(self.model, ref)
                shape = array.shape if array is not None else meta.shape if meta else ()
                factor, shift = multipliers(np.asarray(own / scale), -LOWEST)
                args = {"input": Ref(name), "multiplier": int(factor), "shift": shift}
                name = f"{op.name}_part{number}"
                made = beside(op, name, "quantized.rescale", args, Meta(shape, "int8"))
                self.slots[op.name].append(made)
            refs.append(Ref(name))
        self.slots[op.name].append(
            beside(
                op,
                op.name,
                op.target,
                {**op.args, "tensors": refs},
                Meta(op.metas[0].shape if op.metas[0] else (), "int8"),
            )
        )
        self.ints[op.name] = (op.name, scale)

    def _pool(self, op: Operator) -> None:
        name, own = self._as_int8(op.args["self"].name)
        scale, low = self._result(op)
        shape = self._shape(op.args["self"].name)
        if op.target.startswith("aten.mean."):
            dims = op.args.get("dim") or list(range(len(shape)))
            count = int(np.prod([shape[d] for d in dims]))
            args: dict[str, Any] = {"self": Ref(name), "dim": dims}
            target = "quantized.mean"
        else:
            keys = ("kernel_size", "stride", "padding")
            dims = len(op.metas[0].shape) - 2 if op.metas[0] else 2
            args = {"self": Ref(name), **{key: op.args[key] for key in keys}}
            sizes = args["kernel_size"]
            args["kernel_size"] = sizes if isinstance(sizes, list) else [sizes] * dims
            count = int(np.prod(args["kernel_size"]))
            target = "quantized.avg_pool"
        bound = count * -LOWEST
        factor, shift = multipliers(np.asarray(own / (scale * count)), bound)
        args |= {"multiplier": int(factor), "shift": shift, "low": low, "sums": sum_type(bound)}
        self._emit(op, target, args)

    def _shape(self, name: str) -> tuple[int, ...]:
        op = self.plan.by_name.get(name)
        meta = op.metas[0] if op else self.model.inputs[name]
        return meta.shape if meta else ()


def by_channel(op: Operator, weight: Array) -> Array:
    """The weights of a product, one row for each channel of its result."""
    if op.target not in TRANSPOSED:
        return np.asarray(weight.reshape(len(weight), -1))
    groups, outs = op.args["groups"], weight.shape[1]
    split = weight.reshape(groups, len(weight) // groups, outs, -1)
    return np.asarray(split.swapaxes(1, 2).reshape(groups * outs, -1))


def from_channels(op: Operator, rows: Array, shape: tuple[int, ...]) -> Array:
    """Rows of channels in the shape of the weights."""
    if op.target not in TRANSPOSED:
        return np.asarray(rows.reshape(shape))
    groups, outs = op.args["groups"], shape[1]
    split = rows.reshape(groups, outs, shape[0] // groups, -1)
    return np.ascontiguousarray(split.swapaxes(1, 2)).reshape(shape)


def _window(op: Operator, weight: Array) -> dict[str, Any]:
    """The arguments of a convolution, each a list."""
    dims = weight.ndim - 2
    listed = {key: op.args[key] for key in ("stride", "dilation", "padding")}
    for key, value in listed.items():
        if key == "padding" and isinstance(value, str):
            listed[key] = named_padding(value, weight.shape[2:], listed["dilation"])
        elif not isinstance(value, list) or len(value) == 1:
            listed[key] = (value if isinstance(value, list) else [value]) * dims
    return {**listed, "groups": op.args["groups"]}


_ARITHMETIC = {
    "aten.add.Tensor": _Converter._add,
    "aten.sub.Tensor": _Converter._sub,
    "aten.mul.Tensor": _Converter._mul,
    "aten.cat.default": _Converter._cat,
    **{f"aten.mean.{form}": _Converter._pool for form in ("dim", "default")},
    **{f"aten.avg_pool{n}d.default": _Converter._pool for n in (1, 2, 3)},
}
