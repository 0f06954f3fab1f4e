"""``replace``: a kernel in the place of a module's function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import (
    callee_of,
    entry_of,
    function_type,
    functions_of,
    signature_of,
    symbol,
)
from allo.dialects.diagnostics import FrontendError, ScheduleError
from allo.frontend.kernel_module import KernelModule
from allo.schedule.primitives.functions.compose import replay
from allo.schedule.resolve import find_function
from allo.schedule.state import ScheduleState

from ..generated import compile_text
from ..places import place_of_caller
from .kernels import GivenKernel, ModuleSignature, given_kernel, weight_types
from .state import ModelState
from .transplant import transplant

_WRAPPER = "model_wrapper"


def replace_function(
    s: ModelState,
    name: str,
    kernel: Any,
    instantiate: Sequence[Any] | None,
    missing: Mapping[str, Any] | None = None,
) -> None:
    """Let a kernel compute what a module's function does; see ``ModuleSchedule.replace``.

    Args:
        s: the model's schedule.
        name: of the function.
        kernel: the kernel, or its Schedule.
        instantiate: its template arguments; None where they follow from the types.
        missing: weights that the kernel takes last and the module has not, by name.

    Raises:
        HandleTypeError: ``kernel`` is neither a function nor a Schedule.
        ScheduleError: the signatures differ, or the kernel writes an argument.
    """
    given = given_kernel(kernel, instantiate)
    old = find_function(s.module, name)
    module = _signature(s, old, s.module_paths[name], missing or {})
    if name in s.numbered:
        raise ScheduleError(
            f"Function {name} is shared by several modules, and a kernel cannot take its place.",
            place_of_caller(),
            help="replace the modules first, and share them then.",
        )
    used = module.weights if given.parameters > module.inputs else {}
    if given.parameters != module.inputs + len(used):
        raise module.misfit(given)
    if used and s.weights_of.get(name):
        raise ScheduleError(
            f"The weights of module {module.path!r} are arguments of the design, and a kernel that takes "
            "weights cannot replace it.",
            place_of_caller(),
            help="compile the model without weights_as_args.",
        )
    made, call = _compiled(s, module, given, used)
    prefix = f"{module.path}." if module.path else ""
    new = transplant(s, made, call, old, [f"{prefix}{weight}" for weight in used])
    _check_pure(s, new, given)
    schedule = given.schedule or _default(s, given, new)
    if schedule is not None:
        replay(s, schedule, name)
    s.replaced[module.path] = given.name


def _signature(
    s: ModelState, function: ir.Operation, path: str, missing: Mapping[str, Any]
) -> ModuleSignature:
    name = symbol(function)
    inputs = len(function_type(function).inputs) - len(s.weights_of.get(name, []))
    weights = {**s.origin.weights(path), **missing}
    types = weight_types(s.module, path, weights)
    return ModuleSignature(path, function, s.kernel.functions[name], inputs, weights, types)


def _compiled(
    s: ModelState, module: ModuleSignature, kernel: GivenKernel, used: Any
) -> tuple[KernelModule, ir.Operation]:
    """The kernel compiled for the types of the module, and the call of it.

    Raises:
        ScheduleError: it takes or returns something else.
    """
    text, names = _wrapper(module, kernel, used)
    try:
        made, _ = compile_text(text, _WRAPPER, names, s.context)
    except FrontendError as error:
        raise module.misfit(kernel, why=error) from error
    wrapper = functions_of(made.module)[_WRAPPER]
    call = next(op for op in walk(wrapper) if op.name == "func.call")
    callee = callee_of(call)
    kind = function_type(functions_of(made.module)[callee])
    mine = signature_of(module.function)
    same = (
        list(kind.inputs)[: module.inputs] == list(mine.inputs)[: module.inputs]
        and list(kind.results) == list(mine.results)
        and all(_is_unconverted(value) for value in call.operands)
    )
    if not same:
        raise module.misfit(kernel, made.functions[callee])
    return made, call


def _is_unconverted(value: ir.Value) -> bool:
    """Whether the wrapper passes a value as it is: an argument or a constant."""
    return isinstance(value, ir.BlockArgument) or value.owner.operation.name == "memref.get_global"


def _wrapper(module: ModuleSignature, kernel: GivenKernel, used: Any) -> tuple[str, dict[str, Any]]:
    """The text of a function that calls the kernel as the module is called, and its names."""
    names: dict[str, Any] = {"kernel": kernel.function}
    parameters, passed, lines = [], [], []
    for k, info in enumerate(module.info.args[: module.inputs]):
        names[f"type_{k}"] = info.dtype
        parameters.append(f"x{k}: type_{k}{_extents(info.shape)}")
        passed.append(f"x{k}")
    for k, (name, array) in enumerate(used.items()):
        whole = array.reshape(array.shape or (1,))
        names |= {f"data_{k}": whole, f"weight_{k}": module.types[name]}
        lines.append(f"    w{k}: weight_{k}{_extents(whole.shape)} = data_{k}")
        passed.append(f"w{k}")
    given = kernel.template or []
    names |= {f"given_{k}": value for k, value in enumerate(given)}
    brackets = f"[{', '.join(f'given_{k}' for k in range(len(given)))}]" if given else ""
    results = []
    for k, info in enumerate(module.info.results):
        names[f"result_{k}"] = info.dtype
        results.append(f"result_{k}{_extents(info.shape)}")
    outs = ", ".join(f"z{k}" for k in range(len(results)))
    declared = f": {results[0]}" if len(results) == 1 else ""
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    head = f"def {_WRAPPER}({', '.join(parameters)}) -> {returned}:"
    lines.append(f"    {outs}{declared} = kernel{brackets}({', '.join(passed)})")
    return "\n".join([head, *lines, f"    return {outs}", ""]), names


def _extents(shape: Sequence[int | None]) -> str:
    return str(list(shape)) if shape else ""


def _check_pure(s: ModelState, function: ir.Operation, kernel: GivenKernel) -> None:
    """A module does not change its inputs or its weights."""
    effects = EffectAnalysis(s.module.operation)
    reads = [op.results[0] for op in walk(function) if op.name == "memref.get_global"]
    values = [*entry_of(function).arguments, *reads]
    kept = {effects.memory_of(v).key for v in values if isinstance(v.type, ir.MemRefType)}
    for op in walk(function):
        for effect in effects.effects_of(op):
            if effect.writes and effect.memory.key in kept:
                raise ScheduleError(
                    f"Kernel {kernel.name} writes an argument, and a module does not change its inputs.",
                    place_of(op),
                    help="let it return a new array.",
                )


def _default(s: ModelState, kernel: GivenKernel, function: ir.Operation) -> ScheduleState | None:
    """The default schedule of a library kernel."""
    make = getattr(kernel.function, "default_schedule", None)
    if make is None:
        return None
    schedule: ScheduleState = make(s.kernel.functions[symbol(function)].template_args)
    return schedule
