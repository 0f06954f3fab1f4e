"""Products with constants and the quantisers behind them, as neurons: tables of few bits, or rounded sums.

A neuron whose inputs have few bits together is a truth table (LogicNets: Umuroglu, Akhauri, Fraser and
Blott, FPL 2020). Another one, whose thresholds are those of a shift with rounding and bounds, is its sum and
that shift. Both are found from the thresholds alone, so nothing but their form changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allo.dialects.sums.adders import plan_adders
from allo.dialects.tables.decompose import Decomposer
from allo.dialects.tables.network import Network

from ..graph import Model, Operator, Ref
from .levels import LEVELS

TABLES = ("never", "auto", "always")
MOST_BITS = 16
"""Bits of a neuron's inputs that a table takes."""
MOST_CHOSEN = 12
"""The same where tables are chosen by cost."""
_TABLE_INPUTS = 6
_SAMPLED = 8
"""Neurons of a layer whose tables are counted for a choice."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layer:
    """A product with a constant matrix, and the function of its sums.

    Attributes:
        product, function: the operators.
        weights: ``[inputs, outputs]``.
        low, bits: the least level of an input and its bits.
        factor, shift: an input is ``factor * level + shift``.
    """

    product: Operator
    function: Operator
    weights: Integers
    low: int
    bits: int
    factor: int
    shift: int

    @property
    def reads(self) -> list[Integers]:
        """Of each neuron the inputs whose weights are not zero."""
        return [np.flatnonzero(column) for column in self.weights.T]

    @property
    def most_bits(self) -> int:
        """The bits of the neuron that reads the most."""
        return max(len(places) for places in self.reads) * self.bits

    def sums(self, neuron: int, places: Integers) -> Integers:
        """The sums of a neuron for all levels of some inputs, the first in the lowest bits."""
        address = np.arange(1 << (self.bits * len(places)))
        mask = (1 << self.bits) - 1
        total = np.zeros(address.size, np.int64)
        for k, place in enumerate(places):
            level = (address >> (k * self.bits) & mask) + self.low
            total += self.weights[place, neuron] * (level * self.factor + self.shift)
        return total

    def ends(self) -> tuple[Integers, Integers]:
        """The least and the greatest sum of each neuron."""
        ends = [self.factor * (self.low + end) + self.shift for end in (0, (1 << self.bits) - 1)]
        first, second = self.weights * ends[0], self.weights * ends[1]
        return np.minimum(first, second).sum(0), np.maximum(first, second).sum(0)


def with_neurons(model: Model, tables: str, rounded: bool) -> Model:
    """The model with layers as neurons.

    Args:
        tables: ``"never"``, ``"auto"`` for the layers in which they take fewer lookup tables than sums, or
            ``"always"`` for all whose neurons read at most 16 bits.
        rounded: whether other layers become sums with a shift where their thresholds are those of one.
    """
    made = replace(
        model,
        operators=[],
        weights=dict(model.weights),
        narrow=dict(model.narrow),
    )
    arrays = {name: array for name, (_, array) in model.weights.items()}
    layers = {layer.product.name: layer for layer in _layers(model, arrays)}
    gone: set[str] = set()
    for op in model.operators:
        if op.name in gone:
            continue
        layer = layers.get(op.name)
        neurons = None
        if layer is not None:
            if _as_tables(layer, arrays, tables):
                neurons = _lookup(made, layer, arrays)
            elif rounded:
                neurons = _rounded(made, layer, arrays)
        if layer is None or neurons is None:
            made.operators.append(op)
            continue
        gone.add(layer.function.name)
        made.operators.append(neurons)
    read = {name for op in made.operators for name in op.refs()}
    made.weights = {name: held for name, held in made.weights.items() if name in read}
    return made


def _layers(model: Model, arrays: Mapping[str, Any]) -> list[Layer]:
    """Products by matrices whose sums go into one function of levels alone."""
    dtypes = {name: meta.dtype for name, meta in model.inputs.items()}
    dtypes |= {op.name: op.metas[0].dtype for op in model.operators if op.metas[0]}
    readers: dict[str, list[Operator]] = {}
    for op in model.operators:
        for name in op.refs():
            readers.setdefault(name, []).append(op)
    found = []
    for op in model.operators:
        behind = readers.get(op.name, [])
        if op.target != "levels.matmul" or len(behind) != 1 or op.name in model.outputs:
            continue
        function, held = behind[0], op.args["other"]
        whole = function.metas[0] is not None and "int" in function.metas[0].dtype
        if function.target not in ("levels.thresholds", "levels.table") or not whole:
            continue
        if op.args.get("agreeing") or held.name not in arrays or arrays[held.name].ndim != 2:
            continue
        meta, dtype = op.metas[0], dtypes.get(op.args["self"].name, "")
        if meta is None or len(meta.shape) != 2 or "int" not in dtype:
            continue
        bits, signed = int(dtype.strip("uint")), not dtype.startswith("u")
        factor, shift, _ = op.args.get("zero_left", (1, 0, ""))
        weights = arrays[held.name].astype(np.int64)
        if "zero_right" in op.args:
            times, more, _ = op.args["zero_right"]
            weights = weights * times + more
        low = -(1 << (bits - 1)) if signed else 0
        found.append(Layer(op, function, weights, low, bits, factor, shift))
    return found


# --- tables ---------------------------------------------------------------------------------------


def _as_tables(layer: Layer, arrays: Mapping[str, Any], tables: str) -> bool:
    if tables == "never" or layer.most_bits > (MOST_BITS if tables == "always" else MOST_CHOSEN):
        return False
    return tables == "always" or table_cost(layer, arrays) <= sum_cost(layer)


def table_cost(layer: Layer, arrays: Mapping[str, Any]) -> float:
    """Lookup tables of a layer as truth tables, from some of its neurons."""
    count = layer.weights.shape[1]
    chosen = sorted({round(k * (count - 1) / max(1, _SAMPLED - 1)) for k in range(_SAMPLED)})
    reads, total = layer.reads, 0
    for neuron in chosen:
        values = _values(layer, arrays, neuron, layer.sums(neuron, reads[neuron]))
        variables = list(range(layer.bits * len(reads[neuron])))
        bits = range(_bits(layer.function))
        network = Network(len(variables))
        made = Decomposer(network, _TABLE_INPUTS).add(
            [(values >> k & 1).astype(bool) for k in bits], variables
        )
        total += len(network.kept(made))
    return float(total * count / len(chosen))


def sum_cost(layer: Layer) -> float:
    """Lookup tables of a layer as shared adders, with a shift and bounds behind each sum."""
    rows = [{int(i): int(c[i]) for i in np.flatnonzero(c)} for c in layer.weights.T]
    ends = (layer.low, layer.low + (1 << layer.bits) - 1)
    plan = plan_adders(rows, [ends] * len(layer.weights))
    return plan.bits + len(rows) * (2 * _bits(layer.function) + 2)


def _bits(op: Operator) -> int:
    return int(op.metas[0].dtype.strip("uint")) if op.metas[0] else 0


def _values(layer: Layer, arrays: Mapping[str, Any], neuron: int, sums: Integers) -> Integers:
    """The function of a neuron's sums, from NumPy's form of it."""
    op = layer.function
    given = {k: v for k, v in op.args.items() if k != "input"}
    args = {k: arrays[v.name] if isinstance(v, Ref) else v for k, v in given.items()}
    whole = np.repeat(sums[:, None], layer.weights.shape[1], 1) if args["axes"] else sums[:, None]
    args["input"] = np.clip(whole, *_in_table(args)) if op.target == "levels.table" else whole
    found = LEVELS[op.target](args, op)
    return np.asarray(found[:, neuron if args["axes"] else 0], np.int64)


def _in_table(args: Mapping[str, Any]) -> tuple[int, int]:
    """The sums that a table has; others do not occur."""
    return args["low"], args["low"] + args["table"].shape[-1] - 1


def _lookup(made: Model, layer: Layer, arrays: Mapping[str, Any]) -> Operator:
    """An operator ``levels.lookup``: places of the inputs, and tables."""
    reads = layer.reads
    most = max(1, max(map(len, reads)))
    places, rows = [], []
    for neuron, own in enumerate(reads):
        # what is left over reads an input again, at the weight 0
        table = _values(layer, arrays, neuron, layer.sums(neuron, own))
        rows.append(np.tile(table, 1 << (layer.bits * (most - len(own)))))
        places.append([*own, *[own[0] if len(own) else 0] * (most - len(own))])
    meta = layer.function.metas[0]
    args = {
        "self": layer.product.args["self"],
        "places": _kept(made, layer, "places", np.array(places, np.int32), "int32"),
        "table": _kept(made, layer, "lookup", np.stack(rows), meta.dtype if meta else "int32"),
        "low": layer.low,
        "bits": layer.bits,
    }
    return replace(layer.function, target="levels.lookup", args=args, stack=layer.product.stack)


def _kept(made: Model, layer: Layer, key: str, array: NDArray[Any], dtype: str) -> Ref:
    """An array as a weight of the product's module."""
    name = f"{layer.product.name}_{key}"
    start = f"{layer.product.path}." if layer.product.path else ""
    bits = int(dtype.strip("uint"))
    size = next(n for n in (8, 16, 32, 64) if n >= bits)
    held = array.astype(f"{'u' if dtype[0] == 'u' else ''}int{size}")
    if size != bits:
        made.narrow[name] = dtype
    made.weights[name] = (f"{start}{key}", np.ascontiguousarray(held))
    return Ref(name)


# --- rounded sums ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rounding:
    """``clamp((sum + addend) >> shift, low, high)``; halves go to even where ``even`` says so.

    Attributes:
        addends: of each neuron, half a step included.
    """

    shift: int
    addends: Integers
    even: bool
    low: int
    high: int

    def thresholds(self) -> Integers:
        """``[neuron, level - low - 1]``: the least sums that reach a level."""
        levels = np.arange(self.low + 1, self.high + 1)
        odd = (levels & 1) if self.even else 0 * levels
        return (levels << self.shift) + odd - self.addends[:, None]


def rounding_of(layer: Layer, arrays: Mapping[str, Any]) -> Rounding | None:
    """The rounding that a layer's thresholds are those of; None where there is none."""
    steps_of = _steps(layer, arrays)
    if steps_of is None or layer.factor != 1 or layer.shift:
        return None
    table, first = steps_of
    least, most = layer.ends()
    inside = (table > least[:, None]) & (table <= most[:, None])
    steps = table[:, 2:] - table[:, :-2]
    known = steps[inside[:, 2:] & inside[:, :-2]]
    if not known.size or known.min() != known.max() or known[0] < 2:
        return None
    shift = int(known[0]).bit_length() - 2
    if known[0] != 2 << shift:
        return None
    for even in (False, True):
        found = _fitted(table, inside, shift, even, first, (least, most))
        if found is not None:
            return found
    return None


def _steps(layer: Layer, arrays: Mapping[str, Any]) -> tuple[Integers, int] | None:
    """The least sums that reach each level, ``[neuron, level]``, and the lowest level; None if it falls."""
    op = layer.function
    held = arrays[op.args["table"].name].astype(np.int64)
    if op.target == "levels.thresholds":
        if op.args.get("falling") is not None:
            return None
        found, first = held[..., : op.args["count"]], op.args["first"]
    else:
        first, last = int(held.min()), int(held.max())
        if (np.diff(held, axis=-1) < 0).any() or first == last:
            return None
        reached = held[..., None] > np.arange(first, last)
        beyond = op.args["low"] + held.shape[-1]
        places = op.args["low"] + reached.argmax(-2)
        found = np.where(reached.any(-2), places, beyond)
    return np.broadcast_to(found, (layer.weights.shape[1], found.shape[-1])), first


def _fitted(
    table: Integers,
    inside: NDArray[np.bool_],
    shift: int,
    even: bool,
    first: int,
    ends: Sequence[Integers],
) -> Rounding | None:
    count = table.shape[1]
    levels = np.arange(first + 1, first + count + 1)
    wanted = (levels << shift) + ((levels & 1) if even else 0)
    addends = np.zeros(len(table), np.int64)
    least, most = ends
    for neuron, (row, within) in enumerate(zip(table, inside, strict=True)):
        if within.any():
            place = int(within.argmax())
            addends[neuron] = wanted[place] - row[place]
        else:  # one level for all sums
            reached = int((row <= least[neuron]).sum())
            end = least[neuron] if reached else most[neuron] + 1
            addends[neuron] = wanted[max(0, reached - 1)] - end
    made = Rounding(shift, addends, even, first, first + count)
    found = made.thresholds()
    below = (found <= least[:, None]) & (table <= least[:, None])
    beyond = (found > most[:, None]) & (table > most[:, None])
    return made if bool(((found == table) | below | beyond).all()) else None


def _rounded(made: Model, layer: Layer, arrays: Mapping[str, Any]) -> Operator | None:
    """An operator ``levels.dense``: sums, and their rounding; None where there is no such."""
    found = rounding_of(layer, arrays)
    if found is None:
        return None
    least, most = layer.ends()
    ends = [least, most, least + found.addends, most + found.addends, found.addends]
    low = min(0, *(int(each.min()) for each in ends))
    high = max(1, *(int(each.max()) for each in ends))
    bits = max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) + 1
    args = {
        **{
            key: layer.product.args[key]
            for key in ("self", "other", "zero_right")
            if key in layer.product.args
        },
        "addends": _kept(made, layer, "addends", found.addends, f"int{bits}"),
        "shift": found.shift,
        "even": found.even,
        "low": found.low,
        "high": found.high,
        "sums": f"int{bits}",
    }
    return replace(layer.function, target="levels.dense", args=args, stack=layer.product.stack)
