"""Loops over the lanes of a model.

A design of a thousand lanes would have the code of a thousand lanes, which takes LLVM long to compile and a
processor long to read in each cycle. Where lanes differ only in where their registers lie, and these lie at
equal distances, a loop does all of them. The code of one lane is a function of the state, which is moved
by a distance for each kind of register.
"""

from __future__ import annotations

from collections.abc import Iterator

from allo.backend.rtl._circt import ir

from ..graph import STATE_READ, STORAGE
from .body import CONSTANT, Body, Step
from .loop import Loop
from .runs import Run, find_runs

_FUNCTION = "func.func"


def roll_lanes(module: ir.Module) -> list[Loop]:
    """Replace lanes of the functions of a module by calls of loops, in place.

    Gives the loops, which the module only declares.
    """
    loops: list[Loop] = []
    functions = [op.operation for op in module.body.operations if op.operation.name == _FUNCTION]
    for function in functions:
        block = function.regions[0].blocks[0]
        if len(block.arguments) and str(block.arguments[0].type) == "!arc.storage":
            with function.context, ir.Location.unknown():
                loops += _Rolling(function).run()
    return loops


def define_loops(module: ir.Module, loops: list[Loop]) -> str:
    """The text of a module's functions in the llvm dialect, where loops have been declared, with these."""
    declared = {loop.name for loop in loops}
    for op in [view.operation for view in module.body.operations]:
        if ir.StringAttr(op.attributes["sym_name"]).value in declared:
            op.erase()
    text = module.operation.get_asm(assume_verified=True)
    start = text.index("{", text.index("module")) + 1
    return "\n".join([text[start : text.rindex("}")], *(loop.text() for loop in loops)])


class _Rolling:
    """One function whose lanes become loops."""

    def __init__(self, function: ir.Operation) -> None:
        self._function = function
        self._name = ir.StringAttr(function.attributes["sym_name"]).value
        self._body = Body(function.regions[0].blocks[0])
        self._steps = self._body.steps
        self._last = self._body.end

    def run(self) -> Iterator[Loop]:
        """Make the loops."""
        runs = [run for run in find_runs(self._body.lanes) if self._given_kinds(run) is not None]
        if not runs:
            return
        for number, run in enumerate(runs):
            yield self._loop(f"{self._name}_loop{number}", f"{self._name}_lane{number}", run)
        rolled = {
            number
            for run in runs
            for lane in run.lanes
            for number in lane.numbers
            if self._steps[number].name != STATE_READ
        }
        self._keep_rest(rolled)

    def _given(self, run: Run) -> list[int]:
        """What the lanes of a run take from outside: numbers of operations and arguments."""
        inside = set(run.lanes[0].numbers)
        return list(
            dict.fromkeys(
                operand
                for number in run.lanes[0].numbers
                for operand in self._steps[number].operands
                if operand not in inside
                and (operand < 0 or self._steps[operand].name not in (STORAGE, CONSTANT))
            )
        )

    def _value(self, number: int) -> ir.Value:
        return (
            self._body.block.arguments[-1 - number]
            if number < 0
            else self._steps[number].op.results[0]
        )

    def _given_kinds(self, run: Run) -> list[str] | None:
        """The types of what lanes take from outside, the same in LLVM; None where one is not."""
        kinds = [str(self._value(number).type) for number in self._given(run)]
        known = all(
            kind in ("f32", "f64") or kind[:1] == "i" and kind[1:].isdigit() for kind in kinds
        )
        return kinds if known else None

    def _loop(self, name: str, lane: str, run: Run) -> Loop:
        """Declare a loop, call it, and make the function of its first lane."""
        given = self._given(run)
        values = [self._value(number) for number in given]
        storage = self._body.block.arguments[0]
        strides = [stride for stride in dict.fromkeys(run.strides) if stride]
        kinds = [value.type for value in values]
        self._declare(name, [storage.type, *kinds], internal=False)
        with ir.InsertionPoint(self._body.end):
            ir.Operation.create(
                "func.call",
                operands=[storage, *values],
                attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
            )
        made = self._declare(lane, [storage.type] * (1 + len(strides)) + kinds, internal=True)
        block = made.regions[0].blocks.append(*[storage.type] * (1 + len(strides)), *kinds)
        arguments = list(block.arguments)
        pointers = dict(zip([0, *strides], arguments, strict=False))
        inside = dict(zip(given, arguments[1 + len(strides) :], strict=True))
        with ir.InsertionPoint(block):
            self._copy(run, pointers, inside)
            ir.Operation.create("func.return")
        return Loop(name, lane, len(run.lanes), strides, [str(kind) for kind in kinds])

    def _declare(self, name: str, kinds: list[ir.Type], *, internal: bool) -> ir.Operation:
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(kinds, [])),
        }
        if internal:
            attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        with ir.InsertionPoint(self._function):
            return ir.Operation.create(_FUNCTION, attributes=attributes, regions=1)

    def _copy(self, run: Run, pointers: dict[int, ir.Value], inside: dict[int, ir.Value]) -> None:
        """Copy the first lane of a run."""
        strides = iter(run.strides)
        for number in run.lanes[0].numbers:
            step = self._steps[number]
            operands = []
            for operand in step.operands:
                if operand in inside:
                    operands.append(inside[operand])
                    continue
                leaf = self._steps[operand]
                copy = leaf.op.clone().operation
                if leaf.name == STORAGE:
                    copy.operands[0] = pointers[next(strides)]
                operands.append(copy.results[0])
            copy = step.op.clone().operation
            for position, value in enumerate(operands):
                copy.operands[position] = value
            if not step.writes:
                inside[number] = copy.results[0]

    def _keep_rest(self, rolled: set[int]) -> None:
        """Erase what loops do, and do the writes that are left behind them."""
        needed: set[int] = set()
        for number in range(len(self._steps) - 1, -1, -1):
            step = self._steps[number]
            if number not in rolled and (step.writes or step.computes or number in needed):
                needed.update(step.operands)
                self._keep(step)
            else:
                step.op.erase()

    def _keep(self, step: Step) -> None:
        if step.writes:
            step.op.move_before(self._last)
            self._last = step.op
