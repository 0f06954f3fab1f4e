"""Core IR text to plain records: the only place of this back end that walks MLIR.

Each operation becomes an :class:`Op` once; unrolling and inlining then elaborate records, not MLIR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.affine.arguments import ATTRIBUTE, ranges_of, settle_index_arguments
from allo.dialects.affine.loops import walk
from allo.dialects.affine.maps import rows_of
from allo.dialects.core.bounds import CHECKS, Site, site_of
from allo.dialects.core.dense import constant_bits, dense_words
from allo.dialects.core.expressions import fold, leaves
from allo.dialects.core.fingerprint import equal_functions
from allo.dialects.core.integers import integer_of_text
from allo.dialects.core.locations import place_of
from allo.dialects.core.partition import ArrayLayout, layout_of, unpartitioned
from allo.dialects.core.signature import Signature, signature_of, symbol
from allo.dialects.diagnostics import SourcePlace, UnsupportedOpError
from allo.dialects.interfaces.forked import make_transfers
from allo.dialects.interfaces.transfers import Transfer
from allo.dialects.passes.expand_math import expand_math
from allo.dialects.passes.flush_subnormals import flush_functions
from allo.dialects.passes.fold_views import fold_views
from allo.dialects.passes.repeated_arguments import merge_repeated_arguments
from allo.dialects.passes.run_time_checks import NO_CHECKS, Checks, insert_checks
from allo.dialects.passes.stream_regions import make_plain_regions, make_regions
from allo.dialects.streams.groups import ATTRIBUTE as GROUPS
from allo.dialects.streams.groups import group_streams
from allo.dialects.streams.task_regions import make_task_regions

from ..graph.linear import index_width
from .shared_state import FIRST_RUN, share_state


@dataclass(frozen=True, slots=True)
class MemType:
    """A memref type: extents, element type as text, partition, memory space."""

    shape: tuple[int, ...]
    element: str
    layout: ArrayLayout
    space: str = ""


ValueType = str | MemType
Expr = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """An affine map: expressions over dims ``("d", i)`` and symbols ``("s", i)``."""

    dims: int
    results: tuple[Expr, ...]


ChooseTransfers = Callable[[ir.Module, list[str]], dict[int, Transfer]]


@dataclass(slots=True, eq=False)
class Op:
    """One operation. Values are numbers, unique in the module."""

    name: str
    operands: list[int]
    results: list[int]
    operand_types: list[ValueType]
    result_types: list[ValueType]
    attrs: dict[str, Any]
    regions: list[list[Op]]
    args: list[list[int]]
    place: SourcePlace | None


@dataclass(slots=True)
class FunctionRecord:
    """One ``func.func``."""

    name: str
    args: list[int]
    arg_types: list[ValueType]
    result_types: list[ValueType]
    attrs: dict[str, Any]
    ops: list[Op]
    place: SourcePlace | None

    @property
    def index_ranges(self) -> dict[int, tuple[int, int]]:
        """What its calls give its index arguments, by position; absent: any index."""
        return ranges_of(self.attrs.get(ATTRIBUTE, []))

    @property
    def stream_groups(self) -> list[int]:
        """Of each stream argument a number, equal where the rest of the design joins them; [] if unknown."""
        return list(self.attrs.get(GROUPS, []))


@dataclass(slots=True)
class GlobalRecord:
    """One ``memref.global``: words row-major as unsigned bit patterns; None when not set."""

    name: str
    type: MemType
    constant: bool
    words: list[int] | None
    first_run: bool = False


@dataclass(slots=True)
class Program:
    """A module read.

    Attributes:
        same: for each function one that differs from it in names alone, equal ones the same.
        checks: numbers what the checks are about.
        notes: sentences of the report on marks that change nothing.
        transfers: arguments of the top that became streams of a transfer engine, by position.
    """

    functions: dict[str, FunctionRecord] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    globals: dict[str, GlobalRecord] = field(default_factory=dict)
    checks: dict[Site, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    transfers: dict[int, Transfer] = field(default_factory=dict)


def read_program(
    module: ir.Module,
    top: str,
    *,
    checks: Checks = NO_CHECKS,
    flush: bool = False,
    quiet: bool = False,
    choose: ChooseTransfers | None = None,
) -> Program:
    """Expand the scalar functions of a core IR module as the CPU does, and read it.

    The module is changed. ``checks`` are inserted. ``flush`` makes subnormals zeros for these functions.
    ``quiet``: warnings were given when the module was read before. ``choose`` says which arrays pass while
    the top runs, and adds sentences to the report.
    """
    transfers: dict[int, Transfer] = {}
    with module.context:
        make_regions(module)
        make_plain_regions(module)
        share_state(module)
        notes = make_task_regions(module, checked=checks != NO_CHECKS, quiet=quiet)
        insert_checks(module, checks)
        fold_views(module)
        if choose is not None:
            transfers = choose(module, notes)
            walked = [n for n, transfer in transfers.items() if not transfer.request_stream]
            make_transfers(module, top, walked)
        merge_repeated_arguments(module)
        if flush:
            flush_functions(module)
        expand_math(module)
        settle_index_arguments(module)
        group_streams(module, top)
        program = _Reader().read(module)
    program.notes += notes
    program.transfers = transfers
    return program


class _Reader:
    def __init__(self) -> None:
        self._values: dict[ir.Value, int] = {}
        self._types: dict[ir.Type, ValueType] = {}
        self._maps: dict[str, Map] = {}

    def read(self, module: ir.Module) -> Program:
        program = Program(same=equal_functions(module))
        for op in module.body.operations:
            name = op.operation.name
            if name == "func.func":
                function = self._function(op)
                program.functions[function.name] = function
            elif name == "memref.global":
                record = self._global(op)
                program.globals[record.name] = record
        for site in (site_of(op) for op in walk(module.operation) if op.name in CHECKS):
            program.checks.setdefault(site, len(program.checks))
        return program

    def _function(self, op: ir.OpView) -> FunctionRecord:
        kind = signature_of(op)
        block = op.regions[0].blocks[0] if len(op.regions[0].blocks) else None
        _refuse_open_arrays(op, kind)
        return FunctionRecord(
            name=symbol(op),
            args=[self._number(a) for a in block.arguments] if block else [],
            arg_types=[self._type(t) for t in kind.inputs],
            result_types=[self._type(t) for t in kind.results],
            attrs=self._attrs(op),
            ops=[self._op(o) for o in block.operations] if block else [],
            place=place_of(op),
        )

    def _op(self, view: ir.OpView) -> Op:
        op = view.operation
        regions: list[Any] = []
        args: list[Any] = []
        for region in op.regions:
            blocks = list(region.blocks)
            if not blocks:
                regions.append([])
                args.append([])
                continue
            args.append([self._number(a) for a in blocks[0].arguments])
            regions.append([self._op(o) for o in blocks[0].operations])
        return Op(
            name=op.name,
            operands=[self._number(v) for v in op.operands],
            results=[self._number(v) for v in op.results],
            operand_types=[self._type(v.type) for v in op.operands],
            result_types=[self._type(v.type) for v in op.results],
            attrs=self._attrs(op),
            regions=regions,
            args=args,
            place=place_of(op),
        )

    def _number(self, value: ir.Value) -> int:
        number = self._values.get(value)
        if number is None:
            number = self._values[value] = len(self._values)
        return number

    def _type(self, kind: ir.Type) -> ValueType:
        found = self._types.get(kind)
        if found is None:
            found = self._types[kind] = _read_type(kind)
        return found

    def _attrs(self, op: Any) -> dict[str, Any]:
        attributes = op.attributes
        return {name: self._attr(attributes[name]) for name in attributes}

    def _attr(self, attr: ir.Attribute) -> Any:
        if isinstance(attr, ir.StringAttr):
            return attr.value
        if isinstance(attr, ir.BoolAttr):
            return attr.value
        if isinstance(attr, ir.IntegerAttr):
            return _integer(attr)
        if isinstance(attr, ir.FloatAttr):
            return "bits", constant_bits(attr)
        if isinstance(attr, ir.AffineMapAttr):
            text = str(attr)
            if text not in self._maps:
                self._maps[text] = _read_map(attr.value)
            return self._maps[text]
        if isinstance(attr, ir.IntegerSetAttr):
            return _read_set(attr)
        if isinstance(attr, ir.ArrayAttr):
            return [self._attr(a) for a in attr]
        if isinstance(attr, ir.DenseI32ArrayAttr | ir.DenseI64ArrayAttr):
            return list(attr)
        if isinstance(attr, ir.FlatSymbolRefAttr):
            return attr.value
        if isinstance(attr, ir.UnitAttr):
            return True
        return str(attr)

    def _global(self, op: ir.OpView) -> GlobalRecord:
        array = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
        kind = self._type(array)
        assert isinstance(kind, MemType)
        words = None
        if "initial_value" in op.attributes:
            initial = op.attributes["initial_value"]
            words = dense_words(initial, array.element_type, prod(kind.shape))
        name = symbol(op)
        flag = FIRST_RUN in op.attributes
        return GlobalRecord(name, kind, "constant" in op.attributes, words, flag)


def _integer(attr: ir.IntegerAttr) -> int:
    text = str(attr).split(" ")[0]
    if text in ("true", "false"):
        return int(text == "true")
    return integer_of_text(text)


def _refuse_open_arrays(function: ir.OpView, signature: Signature) -> None:
    """A memory of the design has a size."""
    for position, kind in enumerate(signature.inputs):
        if not isinstance(kind, ir.MemRefType) or kind.has_static_shape:
            continue
        name = signature.names[position] or str(position)
        raise UnsupportedOpError(
            f"Argument {name} is an array of any length; hardware needs its size.",
            place_of(function),
            help="give its extents, or build with target='llvm' or 'vhls'.",
        )


def _read_type(kind: ir.Type) -> ValueType:
    if not isinstance(kind, ir.MemRefType):
        return str(kind)
    space = str(kind.memory_space) if kind.memory_space is not None else ""
    shape = tuple(kind.shape)
    layout = layout_of(kind) if shape else unpartitioned(())
    return MemType(shape, str(kind.element_type), layout, space)


def _read_map(affine_map: ir.AffineMap) -> Map:
    return Map(affine_map.n_dims, tuple(_read_expr(e) for e in affine_map.results))


def _read_set(attr: ir.Attribute) -> tuple[int, tuple[tuple[Expr, bool], ...]]:
    exprs, equal = rows_of(attr)
    read = _read_map(exprs)
    return read.dims, tuple(zip(read.results, equal, strict=True))


def _read_expr(expr: ir.AffineExpr) -> Expr:
    leaf = leaves(lambda k: ("d", k), lambda k: ("s", k), lambda value: ("c", value))
    return fold(expr, leaf, lambda operator, a, b: (operator, a, b))


@cache
def element_width(kind: str) -> int:
    """Bits of a scalar type in hardware: ``index`` has 64, where nothing is known of its values."""
    if kind == "index":
        return 64
    return int(kind.removeprefix("bf").lstrip("fisu"))


def argument_width(record: FunctionRecord, position: int) -> int:
    """Bits of a scalar argument; of an index, those that what it is called with needs."""
    kind = record.arg_types[position]
    if kind == "index" and position in record.index_ranges:
        return index_width(*record.index_ranges[position])
    return element_width(str(kind))
