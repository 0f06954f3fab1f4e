"""``share`` and ``unroll_layers``: modules that are alike computed by one function, or by several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.affine.maps import BoundMap, bound_map
from allo.dialects.affine.substitute import rebuild, with_maps
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import (
    callee_of,
    entry_of,
    functions_of,
    sign,
    signature_of,
    symbol,
)
from allo.dialects.diagnostics import ScheduleError
from allo.frontend.kernel_module import FunctionInfo, ValueInfo
from allo.ir.types import index

from ..places import place_of_caller
from .alike import Pairs, global_of, pairs_of
from .constants import drop_unused_constants, stack_constants
from .state import ModelState

_LAYER = "layer"


def share_functions(s: ModelState, paths: Sequence[str], instances: int) -> None:
    """Let ``instances`` functions compute the modules, module ``k`` the one of number ``k % instances``.

    Raises:
        ScheduleError: the modules are not alike, or fewer than instances; or a constant is used in a
            way that a further dimension does not allow.
    """
    names = [_only_function(s, path) for path in paths]
    if len(set(names)) != len(names) or len(names) < 2:
        raise ScheduleError(
            f"share takes several modules of the model, and {', '.join(map(repr, paths))} "
            f"{'have' if len(paths) > 1 else 'has'} one function.",
            place_of_caller(),
            help='name them by a pattern, as in s["blocks.*"].',
        )
    if (
        isinstance(instances, bool)
        or not isinstance(instances, int)
        or not 1 <= instances <= len(names)
    ):
        raise ScheduleError(
            f"unroll_layers takes a number of instances from 1 to {len(names)}, the number of modules, "
            f"not {instances!r}.",
            place_of_caller(),
        )
    for number in range(instances):
        chosen = list(range(number, len(names), instances))
        if len(chosen) > 1:
            _merge(s, [names[k] for k in chosen], [paths[k] for k in chosen])


def _only_function(s: ModelState, path: str) -> str:
    functions = s.functions[path]
    if len(functions) > 1:
        raise ScheduleError(
            f"Module {path!r} has {len(functions)} functions, one for each form of its inputs.",
            place_of_caller(),
            help="share modules that are called with inputs of one shape.",
        )
    return functions[0]


def _merge(s: ModelState, names: Sequence[str], paths: Sequence[str]) -> None:
    """Make one function of several that are alike: the first, with a number of the module."""
    pairs = [
        pairs_of(s.module, names[0], name, (paths[0], path))
        for name, path in zip(names[1:], paths[1:], strict=True)
    ]
    _check_own(s, names, pairs)
    stacks = {
        constant: [constant, *(each.constants[constant] for each in pairs)]
        for constant in pairs[0].constants
    }
    stacked = stack_constants(s.module, stacks)
    inner = list(pairs[0].functions)
    taking = _taking(s, inner, stacked)
    s.numbered |= taking
    for name in inner:
        if name in taking:
            _take_number(s, name, stacked)
    functions = functions_of(s.module)
    for name in inner:  # calls within the tree hand the number on
        for call in _calls(functions[name], taking):
            _with_operand(call, entry_of(functions[name]).arguments[-1])
    _redirect(s, names, inner, names[0] in taking)
    _forget(s, pairs, paths)


def _check_own(s: ModelState, names: Sequence[str], pairs: Sequence[Pairs]) -> None:
    """The functions below the modules are called by nothing else."""
    trees = [set(pairs[0].functions), *(set(each.functions.values()) for each in pairs)]
    inner = set().union(*trees) - set(names)
    shared = trees[0].intersection(*trees[1:])
    outside = set(functions_of(s.module)) - set().union(*trees)
    for caller in outside:
        for op in walk(functions_of(s.module)[caller]):
            if op.name == "func.call" and callee_of(op) in inner | shared:
                raise ScheduleError(
                    f"Function {callee_of(op)} of the shared modules is called by {caller} too.",
                    place_of(op),
                    help="share the modules that call it.",
                )


def _taking(s: ModelState, inner: Sequence[str], stacked: dict[str, str]) -> set[str]:
    """The functions that read a stacked constant, or call one that does."""
    functions = functions_of(s.module)
    taking = {
        name
        for name in inner
        if any(
            op.name == "memref.get_global" and global_of(op) in stacked
            for op in walk(functions[name])
        )
    }
    grown = True
    while grown:
        callers = {name for name in inner if any(True for _ in _calls(functions[name], taking))}
        grown = not callers <= taking
        taking |= callers
    return taking


def _calls(function: ir.Operation, callees: set[str]) -> list[ir.Operation]:
    return [op for op in walk(function) if op.name == "func.call" and callee_of(op) in callees]


def _take_number(s: ModelState, name: str, stacked: dict[str, str]) -> None:
    """Give a function the number of the module as its last argument, and let it choose constants."""
    function = functions_of(s.module)[name]
    signature = signature_of(function)
    number = entry_of(function).add_argument(ir.IndexType.get(), function.location)
    declared = signature.declared if any(signature.declared) else ()
    sign(
        function,
        [*signature.names, _LAYER],
        [*declared, "index"] if declared else [],
    )
    info = s.kernel.functions.get(name)
    if info is not None:
        s.kernel.functions[name] = _with_argument(info)
    reads = [
        op for op in walk(function) if op.name == "memref.get_global" and global_of(op) in stacked
    ]
    for read in reads:
        _choose(s, read, stacked[global_of(read)], number)


def _choose(s: ModelState, read: ir.Operation, symbol_: str, number: ir.Value) -> None:
    """Read the array of all modules, and in each access the part of this one."""
    table = {
        symbol(op): op.operation
        for op in s.module.body.operations
        if op.operation.name == "memref.global"
    }
    kind = ir.TypeAttr(table[symbol_].attributes["type"]).value
    whole = ir.Operation.create(
        "memref.get_global",
        results=[kind],
        attributes={"name": ir.FlatSymbolRefAttr.get(symbol_)},
        loc=read.location,
        ip=ir.InsertionPoint(read),
    ).results[0]
    for use in list(read.results[0].uses):
        op = use.owner.operation
        if op.name == "affine.load":
            bound = bound_map(op)
            old = bound.map
            exprs = [ir.AffineExpr.get_symbol(old.n_symbols), *old.results]
            made = ir.AffineMap.get(old.n_dims, old.n_symbols + 1, exprs)
            new = with_maps(op, {"map": BoundMap(made, (*bound.operands, number))})
            new.operands[0] = whole
        elif op.name == "memref.load":
            rebuild(op, [whole, number, *list(op.operands)[1:]], {})
        else:
            raise ScheduleError(
                f"A weight of the shared modules is used by {op.name}, and not only read element by element.",
                place_of(op),
                help="share the modules before other steps, or replace them by kernels without calls.",
            )
    read.erase()


def _with_operand(call: ir.Operation, value: ir.Value) -> None:
    rebuild(call, [*call.operands, value], {})


def _redirect(s: ModelState, names: Sequence[str], inner: Sequence[str], numbered: bool) -> None:
    """Let the calls of all the modules be calls of the first's function."""
    order = {name: number for number, name in enumerate(names)}
    first = ir.FlatSymbolRefAttr.get(names[0])
    for caller, function in functions_of(s.module).items():
        if caller in inner:
            continue
        for call in _calls(function, set(names)):
            number = order[callee_of(call)]
            call.attributes["callee"] = first
            if numbered:
                _with_operand(call, _number(call, number))


def _number(call: ir.Operation, value: int) -> ir.Value:
    kind = ir.IndexType.get()
    return ir.Operation.create(
        "arith.constant",
        results=[kind],
        attributes={"value": ir.IntegerAttr.get(kind, value)},
        loc=call.location,
        ip=ir.InsertionPoint(call),
    ).results[0]


def _with_argument(info: FunctionInfo) -> FunctionInfo:
    return changed(info, args=[*info.args, ValueInfo(_LAYER, index, ())])


def _forget(s: ModelState, pairs: Sequence[Pairs], paths: Sequence[str]) -> None:
    """Drop the functions and constants that nothing uses any more; their paths have the first's."""
    functions = functions_of(s.module)
    kept = set(pairs[0].functions)
    for each, path in zip(pairs, paths[1:], strict=True):
        for mine, theirs in each.functions.items():
            if theirs in kept:
                continue
            s.module_paths.pop(theirs, None)
            for inner, names in s.functions.items():  # fused modules have one function
                if theirs in names:
                    s.functions[inner] = [mine if f == theirs else f for f in names]
            functions[theirs].erase()
            s.kernel.functions.pop(theirs, None)
        s.note(
            path, f"computed by function {s.functions[path][0]}, which is that of {paths[0]} too"
        )
    drop_unused_constants(s.module)
