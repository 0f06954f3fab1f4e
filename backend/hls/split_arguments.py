"""Array arguments whose rows lie in several memories: one parameter for each memory.

``hbm_mapping={"weights": ["HBM[0]", "HBM[1]"]}`` cuts the first dimension of an argument into equal runs of
rows, one for each memory. Before::

    func.func @loader(%w: memref<2x64xi32>)        // reads %w[1, %i]
    func.func @top(%weights: memref<2x64xi32>)     // calls @loader(%weights)

After::

    func.func @loader(%w: memref<64xi32>)          // reads %w[%i]
    func.func @top(%weights_0: memref<64xi32>, %weights_1: memref<64xi32>)   // calls @loader(%weights_1)

A part of one row loses the dimension. Every access must be in one part for certain
(:mod:`.parts_of_arrays`), so loops that are unrolled completely are unrolled here where a part depends on
them. A function that takes a split array gets a copy for each set of arrays that calls give it, with the
constants of the call put in where the part depends on them. It takes the parts that it reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.checked import module_pass
from allo.dialects.core.effects import VIEWS, whole_array
from allo.dialects.core.locations import place_of
from allo.dialects.core.rewrite import replace_operation
from allo.dialects.core.signature import (
    callee_of,
    entry_of,
    function_around,
    functions_of,
    has_body,
    sign,
    signature_of,
    symbol,
)
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.passes.fold_views import fold_accesses, fold_views
from allo.dialects.ranges.values import interval_of

from .errors import MemorySplitError, UnknownPartError
from .parts_of_arrays import Split, move_access, part_of, unroll_for, used_whole
from .process_copies import CONSTANTS, instantiated

COUNTS = "split_arguments"
"""Attribute of the top function: how many parameters stand for each argument of the user's."""

Positions = dict[str, set[int]]


def split_counts(function: ir.Operation, count: int) -> tuple[int, ...]:
    """How many parameters stand for each argument of the user's; ``count`` of them where none is split."""
    if COUNTS not in function.attributes:
        return (1,) * count
    return tuple(ir.DenseI64ArrayAttr(function.attributes[COUNTS]))


@module_pass
def split_arguments(module: ir.Module, top: str, parts: Mapping[int, int]) -> None:
    """Split array arguments of the top function, in place.

    Args:
        parts: for the position of an argument, into how many parts; it divides the first dimension.

    Raises:
        MemorySplitError: an access may be in several parts, or is of the whole array; it names the line.
    """
    with module.context, ir.Location.unknown():
        _fold_slices(module, top, parts)
        function = functions_of(module)[top]
        entry, signature = entry_of(function), signature_of(function)
        splits = {
            k: Split.of(signature.name(k), ir.MemRefType(entry.arguments[k].type), count)
            for k, count in parts.items()
        }
        _Splitter(module).split_top(function, splits)


# --- slices of the split arrays ----------------------------------------------------------------


def _fold_slices(module: ir.Module, top: str, parts: Mapping[int, int]) -> None:
    """Let accesses and functions name whole arrays, where they name slices of those that are split."""
    for _ in range(64):
        reached = _reached(module, top, parts)
        if not any(_passes_slice(reached, call) for call in _calls_in(module)):
            break
        fold_views(module, partial(_passes_slice, reached))
    functions = functions_of(module)
    for name in _reached(module, top, parts):
        fold_accesses(functions[name])


def _reached(module: ir.Module, top: str, parts: Mapping[int, int]) -> Positions:
    """Which arguments of which functions are split arrays, or slices of them."""
    functions = functions_of(module)
    reached: Positions = {top: set(parts)}
    waiting = [top]
    while waiting:
        name = waiting.pop()
        for call in (op for op in walk(functions[name]) if op.name == "func.call"):
            given = {k for k, v in enumerate(call.operands) if _is_split(v, name, reached)}
            callee = callee_of(call)
            if not given - reached.get(callee, set()) or not has_body(functions[callee]):
                continue
            reached.setdefault(callee, set()).update(given)
            waiting.append(callee)
    return reached


def _is_split(value: ir.Value, name: str, reached: Positions) -> bool:
    if not isinstance(value.type, ir.MemRefType):
        return False
    array = whole_array(value)
    return (
        isinstance(array, ir.BlockArgument)
        and array.owner.owner.operation.name == "func.func"
        and array.arg_number in reached.get(name, ())
    )


def _passes_slice(reached: Positions, call: ir.Operation) -> bool:
    name = symbol(function_around(call))
    return name in reached and any(
        not isinstance(value, ir.BlockArgument)
        and value.owner.operation.name in VIEWS
        and _is_split(value, name, reached)
        for value in call.operands
    )


# --- functions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Copy:
    """A function made for calls that give it split arrays.

    Attributes:
        name: of the function.
        taken: for each argument of the original the parts that the copy takes: none of a constant; None for
            an argument that stays.
    """

    name: str
    taken: tuple[tuple[int, ...] | None, ...]


class _Splitter:
    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._functions = functions_of(module)
        self._copies: dict[object, _Copy] = {}
        self._made: dict[str, list[str]] = {}
        self._calls: list[SourcePlace] = []

    def split_top(self, function: ir.Operation, splits: Mapping[int, Split]) -> None:
        """Split the arguments of the top function, and drop what is then called no more."""
        taken = self._rewrite(function, splits, {}, every=True)
        counts = [1 if numbers is None else len(numbers) for numbers in taken]
        function.attributes[COUNTS] = ir.DenseI64ArrayAttr.get(counts)
        self._drop_originals()

    def _rewrite(
        self,
        function: ir.Operation,
        splits: Mapping[int, Split],
        constants: Mapping[int, int],
        *,
        every: bool = False,
    ) -> tuple[tuple[int, ...] | None, ...]:
        """Give a function parameters for parts: those that it reaches, or ``every`` one."""
        old = list(entry_of(function).arguments)
        for position, number in constants.items():
            _put_constant(function, old[position], number)
        arrays = {old[k]: split for k, split in splits.items()}
        unroll_for(function, arrays)
        accesses: list[tuple[ir.Operation, ir.Value, int]] = []
        calls: list[tuple[ir.Operation, _Copy]] = []
        used: dict[ir.Value, set[int]] = {v: set() for v in arrays}
        for op in walk(function):
            given = {k: v for k, v in enumerate(op.operands) if v in arrays}
            if given and op.name == "func.call":
                copy = self._called(op, {k: arrays[v] for k, v in given.items()})
                calls.append((op, copy))
                for k, value in given.items():
                    used[value] |= set(copy.taken[k] or ())
                continue
            for value in given.values():
                accesses.append((op, value, part_of(op, arrays[value], self._calls)))
                used[value].add(accesses[-1][2])
        taken: list[tuple[int, ...] | None] = [
            () if k in constants else None for k in range(len(old))
        ]
        for k, split in splits.items():
            taken[k] = tuple(range(split.parts)) if every else tuple(sorted(used[old[k]]))
        parts = _add_parameters(function, splits, taken)
        for op, value, number in accesses:
            move_access(op, arrays[value], number, parts[value, number])
        for op, copy in calls:
            _redirect(op, copy, parts)
        for position in reversed(range(len(old))):
            entry_of(function).erase_argument(position)
        _sign(function, taken)
        return tuple(taken)

    def _called(self, call: ir.Operation, splits: Mapping[int, Split]) -> _Copy:
        """The function that serves a call: with the call's constants put in only where that must be."""
        callee = self._functions[callee_of(call)]
        if not has_body(callee):
            raise used_whole(call, next(iter(splits.values())), self._calls)
        place = place_of(call)
        self._calls += [place] if place else []
        try:
            return self._copy(callee, splits, {})
        except UnknownPartError:
            constants = _constants(call)
            if not constants:
                raise
            return self._copy(callee, splits, constants)
        finally:
            del self._calls[len(self._calls) - (1 if place else 0) :]

    def _copy(
        self, callee: ir.Operation, splits: Mapping[int, Split], constants: Mapping[int, int]
    ) -> _Copy:
        name = symbol(callee)
        key = name, tuple(splits.items()), tuple(constants.items())
        if key in self._copies:
            return self._copies[key]
        function = callee.clone(ir.InsertionPoint(callee)).operation
        free = self._free_name(name)
        function.attributes["sym_name"] = ir.StringAttr.get(free)
        try:
            taken = self._rewrite(function, splits, constants)
        except MemorySplitError:
            function.erase()
            raise
        self._functions[free] = function
        self._made.setdefault(name, []).append(free)
        self._copies[key] = _Copy(free, taken)
        return self._copies[key]

    def _free_name(self, name: str) -> str:
        number = 0
        while f"{name}_p{number}" in self._functions:
            number += 1
        return f"{name}_p{number}"

    def _drop_originals(self) -> None:
        """Erase what is called no more; the only copy of an erased function takes over its name."""
        candidates = {*self._made, *(name for names in self._made.values() for name in names)}
        while gone := (candidates & self._functions.keys()) - _called_names(self._module):
            for name in gone:
                self._functions.pop(name).erase()
        renamed = {}
        for name, copies in self._made.items():
            left = [copy for copy in copies if copy in self._functions]
            if name not in self._functions and len(left) == 1:
                renamed[left[0]] = name
                self._functions[left[0]].attributes["sym_name"] = ir.StringAttr.get(name)
        for call in _calls_in(self._module):
            callee = renamed.get(callee_of(call))
            if callee is not None:
                call.attributes["callee"] = ir.FlatSymbolRefAttr.get(callee)


def _calls_in(module: ir.Module) -> list[ir.Operation]:
    return [op for op in walk(module.operation) if op.name == "func.call"]


def _called_names(module: ir.Module) -> set[str]:
    return {callee_of(call) for call in _calls_in(module)}


def _constants(call: ir.Operation) -> dict[int, int]:
    """The scalars of a call that are one number, by position."""
    found = {}
    for position, value in enumerate(call.operands):
        if isinstance(value.type, (ir.IndexType, ir.IntegerType)) and not _is_stream(value):
            span = interval_of(value, call)
            if span is not None and span[0] == span[1]:
                found[position] = span[0]
    return found


def _is_stream(value: ir.Value) -> bool:
    return not isinstance(value, ir.BlockArgument) and value.owner.operation.name == "allo.stream"


def _put_constant(function: ir.Operation, argument: ir.Value, number: int) -> None:
    made = ir.Operation.create(
        "arith.constant",
        results=[argument.type],
        attributes={"value": ir.IntegerAttr.get(argument.type, number)},
        loc=function.location,
        ip=ir.InsertionPoint.at_block_begin(entry_of(function)),
    )
    argument.replace_all_uses_with(made.result)


def _add_parameters(
    function: ir.Operation, splits: Mapping[int, Split], taken: Sequence[tuple[int, ...] | None]
) -> dict[tuple[ir.Value, int], ir.Value]:
    """Parameters behind the old ones, in their order; those of parts by old argument and number."""
    block = entry_of(function)
    parts = {}
    for position, argument in enumerate(list(block.arguments)):
        numbers = taken[position]
        if numbers is None:
            fresh = block.add_argument(argument.type, function.location)
            argument.replace_all_uses_with(fresh)
            continue
        for number in numbers:
            kind = splits[position].kind
            parts[argument, number] = block.add_argument(kind, function.location)
    return parts


def _redirect(
    call: ir.Operation, copy: _Copy, parts: Mapping[tuple[ir.Value, int], ir.Value]
) -> None:
    """Let a call give a copy the parts that it takes."""
    operands: list[ir.Value] = []
    for value, numbers in zip(call.operands, copy.taken, strict=True):
        operands += [value] if numbers is None else [parts[value, n] for n in numbers]
    attributes = {n: call.attributes[n] for n in call.attributes}
    attributes["callee"] = ir.FlatSymbolRefAttr.get(copy.name)
    replace_operation(call, "func.call", operands, attributes)


def _sign(function: ir.Operation, taken: Sequence[tuple[int, ...] | None]) -> None:
    """Write what a function says of its arguments, whose old ones are gone."""
    signature = signature_of(function)
    names: list[str] = []
    declared: list[str] = []
    places: dict[int, int] = {}
    for position, numbers in enumerate(taken):
        name = signature.names[position]
        if numbers is None:
            places[position] = len(names)
        alone = numbers is None or len(numbers) == 1
        names += [name] if alone else [f"{name}_{n}" if name else "" for n in numbers or ()]
        declared += [signature.declared[position]] * (1 if numbers is None else len(numbers))
    sign(function, names, declared)
    marked = [places[k] for k in instantiated(function) if k in places]
    if CONSTANTS in function.attributes:
        function.attributes[CONSTANTS] = ir.DenseI64ArrayAttr.get(marked)


__all__ = ["split_arguments", "split_counts"]
