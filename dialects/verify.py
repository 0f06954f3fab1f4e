"""Which IR is legal at each stage: the rules of ``docs/internals/core_ir.md``, checked.

A broken rule is a fault of Allo, not of the user: passes and primitives are tested with
:func:`verify` after every step.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from ._mlir import ir
from .core.locations import place_of
from .core.signature import callee_of, function_type, symbol
from .diagnostics import SourcePlace, VerificationError
from .dialect_rules import dialect_problems, space_problem

STAGES = ("scheduled", "lowered")

_DIALECTS = {
    "scheduled": {"builtin", "func", "affine", "scf", "arith", "math", "memref", "linalg", "allo"},
    "lowered": {"builtin", "func", "affine", "scf", "arith", "math", "memref", "allo"},
}
_BULK = {"linalg.fill", "linalg.yield", "memref.copy"}
_LOOPS = {"affine.for", "scf.for"}
_LOADS = {"affine.load", "memref.load"}
_STORES = {"affine.store", "memref.store"}
_OTHERS = {"memref.alloc", "func.call", "scf.while", "affine.if", "scf.if"}
_FUNCTION_TEXTS = ("itypes", "otypes")


def verify(
    module: ir.Module, *, stage: str = "scheduled", top: str | None = None, places: bool = False
) -> None:
    """Check a module against the rules of its stage.

    Args:
        stage: ``"scheduled"`` (what ``Schedule.module`` holds) or ``"lowered"`` (after the shared
            passes a target asks for).
        top: the top function's symbol, which must then exist.
        places: require a source place of every operation inside functions.

    Raises:
        VerificationError: naming the rule, the operation and its place; every problem is a note.
    """
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise VerificationError(f"MLIR's own verifier refuses the module: {error}") from error
    found = list(problems(module, stage=stage, top=top, places=places))
    if not found:
        return
    message, place = found[0]
    notes = tuple(text if where is None else (text, where) for text, where in found[1:9])
    raise VerificationError(message, place, notes=notes)


def problems(
    module: ir.Module, *, stage: str = "scheduled", top: str | None = None, places: bool = False
) -> Iterator[tuple[str, SourcePlace | None]]:
    """Every broken rule as (sentence, place)."""
    if stage not in STAGES:
        raise ValueError(f"There is no stage {stage!r}; stages: {', '.join(STAGES)}.")
    functions: list[str] = []
    for op in module.body.operations:
        operation = op.operation
        if operation.name == "func.func":
            yield from _function(operation, functions, stage, places)
            functions.append(symbol(operation))
        elif operation.name != "memref.global":
            yield f"{operation.name} stands at module level.", place_of(operation)
    if top is not None and top not in functions:
        yield f"The module has no function {top!r}.", None


def _function(
    function: ir.Operation, earlier: list[str], stage: str, places: bool
) -> Iterator[tuple[str, SourcePlace | None]]:
    for sentence in _function_attributes(function):
        yield sentence, place_of(function)
    name = symbol(function)
    for operation in _below(function):
        if not _is_plain(operation.name, stage):
            for sentence in _operation(operation, earlier, stage):
                yield f"In {name}: {sentence}", place_of(operation)
        if places and place_of(operation) is None:
            yield f"In {name}: {operation.name} has no source place.", None


def _below(function: ir.Operation) -> list[ir.Operation]:
    """All operations in a function, while nobody changes it: twice as fast as a walk that allows that."""
    found: list[ir.Operation] = []

    def note(operation: ir.Operation) -> ir.WalkResult:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    function.walk(note, ir.WalkOrder.PRE_ORDER)
    return found[1:]


def _text(operation: ir.Operation, key: str) -> str:
    return str(ir.StringAttr(operation.attributes[key]).value)


def _function_attributes(function: ir.Operation) -> Iterator[str]:
    name = symbol(function)
    kind = function_type(function)
    wanted = {
        "arg_names": len(kind.inputs),
        "arg_types": len(kind.inputs),
        "itypes": len(kind.inputs),
        "res_types": len(kind.results),
        "otypes": len(kind.results),
    }
    for key, length in wanted.items():
        if key not in function.attributes:
            yield f"{name} has no attribute {key}."
            continue
        has = (
            len(_text(function, key))
            if key in _FUNCTION_TEXTS
            else len(ir.ArrayAttr(function.attributes[key]))
        )
        if has != length:
            yield f"{name}'s attribute {key} has {has} entries for {length} values."
    for argument in kind.inputs:
        if problem := space_problem(argument):
            yield f"in {name}'s arguments, {problem}"


@functools.cache
def _is_plain(name: str, stage: str) -> bool:
    """Whether an operation of this name is legal whatever its attributes."""
    dialect = name.split(".", 1)[0]
    ruled = {*_LOOPS, *_LOADS, *_STORES, *_BULK, *_OTHERS}
    return dialect in _DIALECTS[stage] - {"allo"} and name not in ruled


def _operation(operation: ir.Operation, earlier: list[str], stage: str) -> Iterator[str]:
    name = operation.name
    dialect = name.split(".", 1)[0]
    if dialect not in _DIALECTS[stage] or (stage == "lowered" and name in _BULK):
        yield f"{name} is not legal at stage {stage}."
        return
    if name in _LOOPS:
        yield from _loop(operation)
    elif name in _LOADS:
        yield from _named(operation, "from")
    elif name in _STORES:
        yield from _named(operation, "to")
    elif name == "memref.alloc":
        yield from _named(operation, "name")
        if problem := space_problem(operation.results[0].type):
            yield problem
    elif name == "func.call":
        yield from _call(operation, earlier)
    elif name == "scf.while" and len(operation.operands):
        yield "scf.while carries values; loop-carried state belongs in memory."
    elif name in ("affine.if", "scf.if") and len(operation.results):
        yield f"{name} has results; they belong in memory."
    elif dialect == "allo":
        yield from dialect_problems(operation)


def _named(operation: ir.Operation, key: str) -> Iterator[str]:
    if key not in operation.attributes:
        yield f"{operation.name} has no attribute {key!r}."


def _loop(operation: ir.Operation) -> Iterator[str]:
    yield from _named(operation, "loop_name")
    if len(operation.results):
        yield f"{operation.name} carries values; loop-carried state belongs in memory."
    parent = operation.parent
    outermost = parent is not None and parent.name == "func.func"
    if outermost and "op_name" not in operation.attributes:
        yield f"the outermost {operation.name} of a nest has no op_name."


def _call(operation: ir.Operation, earlier: list[str]) -> Iterator[str]:
    name = callee_of(operation)
    if name not in earlier:
        yield f"it calls {name}, which does not stand before it."
