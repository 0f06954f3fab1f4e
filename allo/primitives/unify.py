"""``unify``: one hardware function that runs either of two kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allo.customize import customize
from allo.dialects._mlir import ir
from allo.dialects.affine.loops import body_of, inner_point, make_loop, walk
from allo.dialects.affine.maps import identity_map
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import function_type, symbol
from allo.dialects.diagnostics import ScheduleError


def unify(func1: Callable[..., Any], func2: Callable[..., Any], loop_num: int) -> ir.Module:
    """A module whose top ``<func1>_<func2>_unified`` runs ``loop_num`` steps, each as one of two kernels.

    ::

        unify(add, mul, 2)   ──▶   add_mul_unified(A, B, C, inst: int8[2]):
                                       for t in range(2):
                                           add(A, B, C) if inst[t] == 0 else mul(A, B, C)

    Args:
        func1, func2: kernels with equal arguments and no results.
        loop_num: number of steps.

    Raises:
        ScheduleError: arguments that differ, results, or a ``loop_num`` below 1.
    """
    if not isinstance(loop_num, int) or isinstance(loop_num, bool) or loop_num < 1:
        raise ScheduleError(
            f"unify: loop_num must be a positive integer, got {loop_num!r}.",
            help="it is the number of steps the unified kernel runs.",
        )
    first = customize(func1)
    second = customize(func2, context=first.context)
    with first.context, ir.Location.unknown():
        _check_arguments(first, second)
        renamed = _absorb(first.module, second.module)
        names = (first.top_func_name, renamed.get(second.top_func_name, second.top_func_name))
        wanted = f"{first.top_func_name}_{second.top_func_name}_unified"
        _build_top(first.module, first.top_func.operation, names, wanted, loop_num)
    return first.module


def _check_arguments(first: Any, second: Any) -> None:
    one, two = first.top_func.operation, second.top_func.operation
    if (
        function_type(one) != function_type(two)
        or one.attributes["arg_types"] != two.attributes["arg_types"]
    ):
        raise ScheduleError(
            f"unify: {first.top_func_name} and {second.top_func_name} take different arguments: "
            f"{function_type(one)} and {function_type(two)}.",
            place_of(two),
            help="give both kernels the same argument types and shapes.",
        )
    if list(function_type(one).results):
        raise ScheduleError(
            f"unify: {first.top_func_name} returns a value.",
            place_of(one),
            help="write results into array arguments.",
        )


def _absorb(module: ir.Module, other: ir.Module) -> dict[str, str]:
    """Move the symbols of ``other`` into ``module``; old name to new where names met."""
    taken = {symbol(op.operation) for op in module.body.operations}
    renamed: dict[str, str] = {}
    end = ir.InsertionPoint(module.body)
    for op in list(other.body.operations):
        operation = op.operation
        name = symbol(operation)
        if name in taken:
            renamed[name] = f"{name}_second"
            operation.attributes["sym_name"] = ir.StringAttr.get(renamed[name])
    for op in list(walk(other.operation)):
        for attribute in ("callee", "name"):
            if op.name not in ("func.call", "memref.get_global") or attribute not in op.attributes:
                continue
            reference = op.attributes[attribute]
            if isinstance(reference, ir.FlatSymbolRefAttr) and reference.value in renamed:
                op.attributes[attribute] = ir.FlatSymbolRefAttr.get(renamed[reference.value])
    for op in list(other.body.operations):
        operation = op.operation
        operation.detach_from_parent()
        end.insert(operation)
    return renamed


def _build_top(
    module: ir.Module,
    model: ir.Operation,
    names: tuple[str, str],
    wanted: str,
    steps: int,
) -> None:
    location = model.location
    byte = ir.IntegerType.get_signless(8)
    selectors = ir.MemRefType.get([steps], byte)
    inputs = [*function_type(model).inputs, selectors]
    attributes = {n: model.attributes[n] for n in model.attributes}
    attributes |= {
        "sym_name": ir.StringAttr.get(wanted),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, [])),
        "arg_names": _extended(model, "arg_names", "inst"),
        "arg_types": _extended(model, "arg_types", "i8"),
        "itypes": ir.StringAttr.get(ir.StringAttr(model.attributes["itypes"]).value + "s"),
    }
    top = ir.Operation.create(
        "func.func",
        attributes=attributes,
        regions=1,
        loc=location,
        ip=ir.InsertionPoint(module.body),
    )
    block = top.regions[0].blocks.append(*inputs, arg_locs=[location] * len(inputs))
    ir.Operation.create("func.return", loc=location, ip=ir.InsertionPoint(block))
    start = ir.InsertionPoint.at_block_begin(block)
    label = {"op_name": ir.StringAttr.get("S_t_0")}
    loop = make_loop("t", 0, steps, location, start, attributes=label)
    _choose(loop, list(block.arguments), names, byte, location)


def _extended(model: ir.Operation, name: str, value: str) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([*ir.ArrayAttr(model.attributes[name]), ir.StringAttr.get(value)])


def _choose(
    loop: ir.Operation,
    arguments: list[ir.Value],
    names: tuple[str, str],
    byte: ir.Type,
    location: ir.Location,
) -> None:
    ip = inner_point(loop)
    index = identity_map([body_of(loop).arguments[0]])
    selector = ir.Operation.create(
        "affine.load",
        results=[byte],
        operands=[arguments[-1], *index.operands],
        attributes={"map": ir.AffineMapAttr.get(index.map), "from": ir.StringAttr.get("inst")},
        loc=location,
        ip=ip,
    )
    zero = ir.Operation.create(
        "arith.constant",
        results=[byte],
        attributes={"value": ir.IntegerAttr.get(byte, 0)},
        loc=location,
        ip=ip,
    )
    same = ir.Operation.create(
        "arith.cmpi",
        results=[ir.IntegerType.get_signless(1)],
        operands=[selector.result, zero.result],
        attributes={"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)},
        loc=location,
        ip=ip,
    )
    branch = ir.Operation.create("scf.if", operands=[same.result], regions=2, loc=location, ip=ip)
    for region, name in zip(branch.regions, names, strict=True):
        block = region.blocks.append()
        end = ir.InsertionPoint(block)
        ir.Operation.create(
            "func.call",
            operands=arguments[:-1],
            attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
            loc=location,
            ip=end,
        )
        ir.Operation.create("scf.yield", loc=location, ip=end)
