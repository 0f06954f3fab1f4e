"""The operator library: an operation and its types in, hardware out."""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from allo.backend.devices import DEFAULT_DEVICE, OperatorDelays, family
from allo.dialects.diagnostics import BuildError, InternalError, UnsupportedOpError
from allo.dialects.passes.expand_math import SINGLE_ONLY
from allo.dialects.text.near import did_you_mean

from .request import Builder, Request
from .spec import Operator

FAMILIES: tuple[str, ...] = (
    "allo.backend.rtl.operators.families.add_sub",
    "allo.backend.rtl.operators.families.bitwise",
    "allo.backend.rtl.operators.families.shifts",
    "allo.backend.rtl.operators.families.casts",
    "allo.backend.rtl.operators.families.compare",
    "allo.backend.rtl.operators.families.select",
    "allo.backend.rtl.operators.families.multiply",
    "allo.backend.rtl.operators.families.divide",
    "allo.backend.rtl.operators.families.counts",
    "allo.backend.rtl.operators.families.float_constants",
    "allo.backend.rtl.operators.families.floats",
)
"""Modules with a table ``OPERATORS`` from MLIR operation name to builder. A new operator is a
new file and a line here; one outside the package calls :func:`register_operator`."""

OPERATORS_KEPT = 512
"""Operators that one process keeps for its next builds. A 128-bit divider is half a megabyte."""

_Table = Mapping[str, tuple[Builder, ...]]


class _Registry:
    """Which builders an operation has, in the order they are asked.

    The table is never changed: a new one takes its place, whole, so a thread that reads
    sees all the families or waits until they are loaded.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._table: _Table | None = None

    def table(self) -> _Table:
        return self._table or self._load()

    def prefer(self, op: str, builder: Builder) -> None:
        with self._lock:
            table = self.table()
            self._table = {**table, op: (builder, *table.get(op, ()))}

    def _load(self) -> _Table:
        with self._lock:
            if self._table is None:
                table: dict[str, tuple[Builder, ...]] = {}
                for module in FAMILIES:
                    for op, builder in importlib.import_module(module).OPERATORS.items():
                        table[op] = (*table.get(op, ()), builder)
                self._table = table
            return self._table


_REGISTRY = _Registry()


def register_operator(op: str, builder: Builder) -> None:
    """Ask ``builder`` first from now on when an operator for ``op`` is wanted."""
    _REGISTRY.prefer(op, builder)


def supported_operations() -> list[str]:
    """Names of the MLIR operations that have an operator."""
    return sorted(_REGISTRY.table())


class OperatorLibrary:
    """The operators of one device family at one clock.

    Args:
        device: a family of :mod:`allo.backend.devices`.
        clock_mhz: the clock that every unit is pipelined for.
        subnormals: ``"keep"``, or ``"flush"`` for units of floats to which they are zero.

    Raises:
        BuildError: for an unknown device family, or a clock that is not positive.
    """

    def __init__(
        self, device: str = DEFAULT_DEVICE, clock_mhz: float = 200.0, subnormals: str = "keep"
    ) -> None:
        self.record = family(device)
        self.device = self.record.operators
        if not clock_mhz > 0:
            raise BuildError(
                f"The clock must be a positive number of megahertz, not {clock_mhz}.",
                help="200 is the default.",
            )
        self.clock_mhz = clock_mhz
        self.flush = subnormals == "flush"
        self._found: dict[tuple[Any, ...], Operator] = {}
        self._modules: dict[str, Operator] = {}

    def find(
        self,
        op: str,
        operand_types: tuple[str, ...],
        result_type: str,
        attributes: dict[str, Any] | None = None,
    ) -> Operator:
        """The operator for an operation of the core IR.

        Args:
            op: MLIR operation name, ``"arith.addi"``.
            operand_types: MLIR types as text, ``("i32", "i32")``; ``index`` is 64 bits.
            result_type: the same for the result.
            attributes: ``{"predicate": "slt"}`` (or its number) for comparisons; optionally
                ``{"constants": (None, 8)}``, the values of constant operands, which makes
                shifts, products and quotients by constants cheap, and
                ``{"extended": (("s", 8), None)}``, the operands of a product that are sign-
                (``s``) or zero-extended (``u``) from fewer bits, and ``{"impl": "fabric"}`` or
                ``"dsp"``: whether adders of floats and multipliers take multiplier blocks; of
                remainders ``"pipelined"``, to take operands in every cycle.

        Raises:
            UnsupportedOpError: when no hardware is known for it.
            InternalError: when it has the module's name of another operator.
        """
        given = attributes or {}
        key = (op, tuple(operand_types), result_type, tuple(sorted(given.items())))
        if key not in self._found:
            found = self._build(op, tuple(operand_types), result_type, given)
            self._check_module(found)
            self._found[key] = found
        return self._found[key]

    def _check_module(self, operator: Operator) -> None:
        """A design knows a unit by the name of its module: two that differ must not have one name."""
        if not operator.module or operator.unit_module is None:
            return
        known = self._modules.setdefault(operator.module, operator)
        if known is operator or known.unit_module is None:
            return
        styles = "rtl", "native"
        if any(known.unit_module(s).text() != operator.unit_module(s).text() for s in styles):
            raise InternalError(
                f"Two units that compute different things are called {operator.module}.",
                help="this is a fault of the RTL compiler; please report it with the kernel.",
            )

    def variant(self, operator: Operator, impl: str) -> Operator:
        """The operator for what another one was found for, made of ``"dsp"`` or ``"fabric"``."""
        op, operand_types, result_type, given = operator.asked
        return self.find(op, operand_types, result_type, {**dict(given), "impl": impl})

    def _build(
        self, op: str, operand_types: tuple[str, ...], result_type: str, attributes: dict[str, Any]
    ) -> Operator:
        builders = _REGISTRY.table()
        if op not in builders:
            if op in SINGLE_ONLY:
                raise UnsupportedOpError(
                    f"There is no hardware operator for {op!r} of {result_type}.",
                    help="compute it in float32, or take its values from a table.",
                )
            hint = did_you_mean(op, builders)
            raise UnsupportedOpError(
                f"There is no hardware operator for {op!r}.",
                help=f"{hint}a family of allo.backend.rtl.operators can add one.",
            )
        listed = tuple(sorted(attributes.items()))
        return _operator(
            builders[op],
            op,
            operand_types,
            result_type,
            listed,
            self.device,
            self.clock_mhz,
            self.flush,
        )


@functools.lru_cache(maxsize=OPERATORS_KEPT)
def _operator(
    builders: tuple[Builder, ...],
    op: str,
    operand_types: tuple[str, ...],
    result_type: str,
    attributes: tuple[tuple[str, Any], ...],
    device: OperatorDelays,
    clock_mhz: float,
    flush: bool,
) -> Operator:
    """The first answer of the builders. Libraries share it: an operator never changes."""
    request = Request(op, operand_types, result_type, dict(attributes), device, clock_mhz, flush)
    try:
        answers = (builder(request) for builder in builders)
        found = next((answer for answer in answers if answer is not None), None)
    except KeyError as error:
        raise _no_types(op, operand_types, result_type) from error
    if found is None:
        raise _no_types(op, operand_types, result_type)
    return replace(found, asked=(op, operand_types, result_type, attributes))


def _no_types(op: str, operand_types: tuple[str, ...], result_type: str) -> UnsupportedOpError:
    return UnsupportedOpError(
        f"There is no hardware operator for {op!r} from ({', '.join(operand_types)}) "
        f"to {result_type}.",
        help="operators take integers of any width, index, and f16, bf16, f32, f64.",
    )
