"""Which values are integers: decided for the whole graph before anything is converted.

A product (linear layer, convolution, matrix product) reads int8 and gives int8 where everything that reads it
can take that, and else float32 straight from its sums. Operators that only move or scale elements
follow their operands. Norms, softmax and arithmetic with constants are done in float32.
"""

from __future__ import annotations

from allo.dialects.diagnostics import ModelError, UnsupportedOperatorError
from allo.models.graph import Model, Operator
from allo.models.integers.editing import readers_of
from allo.models.operators import VIEWS

from ..pt2e.convert import MAXIMA, MOVES, RELU
from ..pt2e.pairs import PAIRS
from ..pt2e.pools import POOLS
from ..pt2e.products import PRODUCTS
from ..running import CHAIN

KEEPING = {*MOVES, RELU, *MAXIMA}
"""Operators whose result has the scale of their operand."""

_JOINING = {*PAIRS, "aten.cat.default"}

TABLES = {
    CHAIN,
    *(
        f"aten.{name}.default"
        for name in (
            "gelu silu tanh sigmoid hardswish hardsigmoid mish selu elu leaky_relu softplus relu6"
            " hardtanh clamp clamp_min clamp_max log_sigmoid erf abs"
        ).split()
    ),
}
"""Activations: tables of 256 results."""

FLOATS = {
    "aten.add.Tensor",
    "aten.sub.Tensor",
    "aten.mul.Tensor",
    "aten.div.Tensor",
    "aten.neg.default",
    "aten.masked_fill.Scalar",
    "aten.where.self",
    "aten.layer_norm.default",
    "aten.rms_norm.default",
    "aten.softmax.int",
    "aten.log_softmax.int",
    "aten.group_norm.default",
    "aten.stack.default",
    "aten.index_select.default",
    "aten.embedding.default",
    "aten.logical_not.default",
    RELU,
    "aten.cat.default",
    *MOVES,
}
"""Operators whose float32 form has an exact reference."""

_ALWAYS = {*TABLES, *POOLS, *MAXIMA}
"""Operators that are done in integers wherever they stand."""

FOLLOWING = {*KEEPING, *_JOINING} - _ALWAYS
"""Operators that are done in integers where their operands and readers are."""


def unsupported(op: Operator) -> UnsupportedOperatorError:
    """The error for an operator that has no exact form."""
    where = f"Module {op.path!r}" if op.path else "The model"
    return UnsupportedOperatorError(
        f"{where} uses {op.target}, which cannot be quantised.",
        op.place,
        help="docs/torch.md lists what can be; write it with those, or compile the float model.",
    )


class Plan:
    """Which results of a graph are int8.

    Attributes:
        ints: the operators whose results are int8.

    Raises:
        UnsupportedOperatorError: for an operator that has no exact form.
        ModelError: for floats other than float32.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.readers = readers_of(model)
        self.by_name = {op.name: op for op in model.operators}
        for op in model.operators:
            self._check(op)
        self.ints = {op.name for op in model.operators if self._may_be_int(op)}
        self.inputs = {n for n, meta in model.inputs.items() if meta.dtype == "float32"}
        changed = True
        while changed:
            lost = {name for name in self.ints if not self._stays(self.by_name[name])}
            gone = {name for name in self.inputs if not self._read_as_int(name)}
            changed = bool(lost or gone)
            self.ints -= lost
            self.inputs -= gone

    def _check(self, op: Operator) -> None:
        if op.target not in PRODUCTS | FOLLOWING | _ALWAYS | FLOATS or not _is_plain_pool(op):
            raise unsupported(op)
        for meta in op.metas:
            if meta and meta.dtype in ("float16", "bfloat16", "float64"):
                where = f"Module {op.path!r}" if op.path else "The model"
                raise ModelError(
                    f"{where} computes in {meta.dtype}, and float32 models are quantised.",
                    op.place,
                    help="call model.float() first.",
                )

    def _may_be_int(self, op: Operator) -> bool:
        if not is_float(op):
            return False
        if op.target in _JOINING:
            tensors = [name for name in op.refs() if name in self.by_name or self._is_input(name)]
            whole = len(list(op.refs())) == len(tensors) and len(tensors) > 1
            return whole or (op.target == "aten.cat.default" and bool(tensors))
        return op.target in PRODUCTS | _ALWAYS | FOLLOWING

    def _is_input(self, name: str) -> bool:
        return name in self.model.inputs

    def _stays(self, op: Operator) -> bool:
        if op.target in _ALWAYS:
            return True
        if op.target in FOLLOWING and not all(self._is_int(name) for name in op.refs()):
            return False
        if op.target in PRODUCTS | VIEWS and not self.readers.get(op.name):
            return False
        return self._read_as_int(op.name)

    def _is_int(self, name: str) -> bool:
        return name in self.ints or name in self.inputs

    def _read_as_int(self, name: str) -> bool:
        return all(
            reader.target in PRODUCTS | _ALWAYS or reader.name in self.ints
            for reader in self.readers.get(name, [])
        )


def _is_plain_pool(op: Operator) -> bool:
    """Whether every window of an average has as many elements, if it is one."""
    if not op.target.startswith("aten.avg_pool"):
        return True
    padded = any(op.args["padding"] if isinstance(op.args["padding"], list) else [1])
    counted = op.args["count_include_pad"] or not padded
    return bool(counted) and not op.args["ceil_mode"] and not op.args.get("divisor_override")


def is_float(op: Operator) -> bool:
    """Whether the first result is float32."""
    return op.metas[0] is not None and op.metas[0].dtype == "float32"
