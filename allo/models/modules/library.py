"""Modules that are known patterns become kernels of ``allo.library`` with their default schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import string_attribute, walk
from allo.dialects.core.locations import location_of
from allo.dialects.core.signature import sign, signature_of
from allo.dialects.diagnostics import OptionError, ScheduleError
from allo.dialects.text.shown import shown
from allo.frontend.kernel_module import FunctionInfo
from allo.ir.types import float32
from allo.schedule.resolve import find_function

from ..graph import Model, Operator, Ref
from ..lowering import Choice
from ..places import place_of_caller
from ..storage.choices import Storage
from ..text import identifier
from .alike import global_of
from .constants import drop_unused_constants, forget_zeros
from .kernels import weight_types
from .replace import replace_function
from .state import ModelState

_LIBRARY = "allo.library.nn"
Shapes = Mapping[str, tuple[int, ...]]
Pattern = Callable[[Operator, FunctionInfo, Shapes], "Fit | str"]

_CONVOLUTION = dict(
    zip(
        ("b", "co", "oh", "o0", "ci", "kh", "kw", "ow", "o1"),
        ("i0", "i2", "i3", "j0", "k0", "k1", "k2", "k3", "o0"),
        strict=True,
    )
)
_ROW = {"j_init": "j0", "k": "k0", "j": "k1", "j_back": "o0"}


@dataclass(frozen=True, slots=True)
class Fit:
    """A kernel that computes what an operator does.

    Attributes:
        kernel: its name in ``allo.library.nn``.
        template: its template arguments.
        loops: its loops to the names that the plain nest has for them.
        weights: the operator's arguments that the kernel takes behind the input.
        bias: the length of a bias of zeros that the kernel takes last and the module has not, or 0.
        band: the name of the plain nest, where the kernel is one nest of the same loops.
    """

    kernel: str
    template: Sequence[Any]
    loops: Mapping[str, str] = field(default_factory=dict)
    weights: tuple[str, ...] = ()
    band: str = ""
    bias: int = 0


def choose_kernels(
    s: ModelState, exported: Model, library: bool | Mapping[str, bool], storage: Storage
) -> None:
    """Let kernels of the library compute the modules that they fit.

    Args:
        s: the model's schedule, before any step.
        exported: the model's operators.
        library: whether to; or whether to for modules by pattern, and True for the others.
        storage: where the weights are, and in which order their elements.

    Raises:
        OptionError: ``library`` is something else.
        UnknownHandleError: a pattern names no module.
    """
    wanted = _wanted(s, library)
    operators = {op.name: op for op in exported.operators}
    by_function: dict[str, list[Choice]] = {}
    for choice in s.choices:
        by_function.setdefault(choice.function, []).append(choice)
    for function, choices in by_function.items():
        path = s.module_paths[function]
        answer = wanted.get(path, library if isinstance(library, bool) else True)
        for choice in choices:
            if choice.target not in _PATTERNS and choice.target not in _PLAIN:
                continue
            reason = _PLAIN.get(choice.target, "")
            if not answer:
                reason = "library=False keeps it"
            elif not reason:
                found = _fitting(s, exported, operators[choice.operator], choices, storage)
                reason = found if isinstance(found, str) else _replace(s, choice, found)
            if reason:
                s.reasons[choice.operator] = reason
    s.primitive_sequences.clear()  # what compose replays are the steps of the user


def _wanted(s: ModelState, library: bool | Mapping[str, bool]) -> dict[str, bool]:
    """What is asked for each module by its path."""
    if isinstance(library, bool):
        return {}
    if not isinstance(library, Mapping):
        raise OptionError(
            f"library is {shown(library)}, and neither a truth value nor a mapping of module paths.",
            place_of_caller(),
            help='write library=False, or library={"blocks.*.fc": False}.',
        )
    found: dict[str, bool] = {}
    for pattern, value in library.items():
        if not isinstance(value, bool):
            raise OptionError(
                f"library[{pattern!r}] is {shown(value)}, and no truth value.",
                place_of_caller(),
                help="write False to keep the plain nest; s[path].replace(kernel) puts another kernel there.",
            )
        found |= {match.path: value for match in s.matched(pattern)}
    return found


def _replace(s: ModelState, choice: Choice, fit: Fit) -> str:
    """Put the kernel in the place of a module's function; ``""``, or why that was not possible."""
    try:
        with s.step(f"library {choice.path}"):
            kernel = getattr(import_module(_LIBRARY), fit.kernel)
            zeros = {"bias": np.zeros(fit.bias, np.float32)} if fit.bias else {}
            replace_function(s, choice.function, kernel, list(fit.template), zeros)
            function = find_function(s.module, choice.function)
            if fit.bias:
                forget_zeros(function, f"g_{identifier(f'{choice.path}.bias')}")
                drop_unused_constants(s.module)
            if choice.place is not None:
                location = location_of(choice.place)
                for op in (function, *walk(function)):
                    op.location = location
            _rename(function, fit)
            s.note(choice.path, "a kernel of the library that fits, with its default schedule")
    except ScheduleError as error:
        return str(error.message)
    s.steps.pop()
    return ""


def _fitting(
    s: ModelState, exported: Model, op: Operator, choices: Sequence[Choice], storage: Storage
) -> Fit | str:
    """The kernel of the library for an operator, or why it is none."""
    function = choices[0].function
    if len(choices) != 1 or len(s.functions[op.path]) != 1 or not op.path:
        return "it is not all that one module does"
    info = s.kernel.functions[function]
    arrays = s.origin.weights(op.path)
    types = weight_types(s.module, op.path, arrays)
    listed = [*(a.dtype for a in info.args), *(r.dtype for r in info.results), *types.values()]
    if any(dtype != float32 for dtype in listed):
        return "its element types are not all float32"
    shapes = {name: array.shape for name, array in arrays.items()}
    fit = _PATTERNS[op.target](op, info, shapes)
    if isinstance(fit, str):
        return fit
    named = [op.args[name] for name in fit.weights]
    paths = [exported.weights.get(ref.name, ("", None))[0] for ref in named if isinstance(ref, Ref)]
    given = [
        name for name, path in zip(fit.weights, paths, strict=False) if storage.is_argument(path)
    ]
    if given and len(given) == len(fit.weights):
        return "its weights are arguments of the design"
    if given:
        return f"its {' and '.join(given)} is an argument of the design"
    if paths != [f"{op.path}.{name}" for name in types]:
        return "its weights are not those of the module alone, in their order"
    for path, (name, shape) in zip(paths, shapes.items(), strict=True):
        order = storage.order(path, shape)
        if order not in (None, tuple(range(len(shape)))):
            return f"its {name} is stored in the order {order} of its dimensions"
    return fit


# --- patterns ---------------------------------------------------------------------------------------


def _linear(op: Operator, info: FunctionInfo, _: Shapes) -> Fit | str:
    *rows, depth = info.args[0].shape
    kernels = {1: "linear2d", 2: "linear3d"}
    if len(rows) not in kernels:
        return f"its input has {len(rows) + 1} dimensions"
    width = info.results[0].shape[-1]
    sizes = [rows[0], width, depth] if len(rows) == 1 else [*rows, depth, width]
    outer = {"i": "i0"} if len(rows) == 1 else {"i": "i0", "r": "i1"}
    template = [float32, float32, float32, *sizes]
    weights, bias = _with_bias(op, width)
    return Fit(kernels[len(rows)], template, outer | _ROW, weights, "linear", bias)


def _convolution(op: Operator, info: FunctionInfo, weights: Shapes) -> Fit | str:
    shape, result = info.args[0].shape, info.results[0].shape
    if len(shape) != 4:
        return "conv2d takes images of four dimensions"
    if op.args["groups"] != 1 or set(_pair(op.args["dilation"])) != {1}:
        return "conv2d has neither groups nor dilation"
    if isinstance(op.args["padding"], str):
        return "its padding is a name"
    batch, ins, *image = shape
    strides, paddings = _pair(op.args["stride"]), _pair(op.args["padding"])
    sizes = [batch, ins, result[1], *image, *weights["weight"][2:], *result[2:]]
    template = [float32, *sizes, *strides, *paddings]
    named, bias = _with_bias(op, result[1])
    return Fit("conv2d", template, _CONVOLUTION, named, op.kind, bias)


def _with_bias(op: Operator, length: int | None) -> tuple[tuple[str, ...], int]:
    """The weights of a layer, and the length of the bias that it has not, or 0."""
    if op.args.get("bias") is None:
        return ("weight",), length or 0
    return ("weight", "bias"), 0


def _pair(value: Any) -> list[int]:
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    return listed * 2 if len(listed) == 1 else listed


def _norm(kernels: Mapping[int, str], weights: tuple[str, ...]) -> Pattern:
    def fit(op: Operator, info: FunctionInfo, _: Shapes) -> Fit | str:
        shape = info.args[0].shape
        if len(op.args["normalized_shape"]) != 1 or len(shape) not in kernels:
            return "it does not normalise the rows of two or three dimensions"
        if op.args["eps"] != 1e-5:
            return f"its eps is {op.args['eps']}, and that of the kernel 1e-05"
        if any(op.args.get(name) is None for name in weights):
            return f"the kernel takes {' and '.join(weights)}"
        return Fit(kernels[len(shape)], [float32, *shape], {}, weights)

    return fit


def _softmax(kernel: str) -> Pattern:
    def fit(op: Operator, info: FunctionInfo, _: Shapes) -> Fit | str:
        shape = info.args[0].shape
        if len(shape) != 2 or op.args["dim"] not in (-1, 1):
            return "it is not over the rows of two dimensions"
        return Fit(kernel, [float32, *shape])

    return fit


def _relu(op: Operator, info: FunctionInfo, _: Shapes) -> Fit | str:
    shape = info.args[0].shape
    kernels = {2: ("relu2d", "hw"), 3: ("relu3d", "nlc"), 4: ("relu4d", "nchw")}
    if len(shape) not in kernels:
        return f"its input has {len(shape)} dimensions"
    kernel, letters = kernels[len(shape)]
    loops = {letter: f"i{k}" for k, letter in enumerate(letters)}
    return Fit(kernel, [float32, *shape], loops, (), op.kind)


_PATTERNS: dict[str, Pattern] = {
    "aten.linear.default": _linear,
    "aten.conv2d.default": _convolution,
    "aten.layer_norm.default": _norm({2: "layer_norm", 3: "layer_norm3d"}, ("weight", "bias")),
    "aten.rms_norm.default": _norm({2: "rms_norm", 3: "rms_norm3d"}, ("weight",)),
    "aten.softmax.int": _softmax("softmax_rows"),
    "aten.log_softmax.int": _softmax("log_softmax"),
    "aten.relu.default": _relu,
}
_PLAIN = {
    "aten.gelu.default": "the constants of GeLU are rounded",
    "aten.scaled_dot_product_attention.default": "kernels of the library have the heads of a token "
    "side by side, and would need copies",
}


# --- names ------------------------------------------------------------------------------------------


def _rename(function: ir.Operation, fit: Fit) -> None:
    """Give the kernel's loops and arrays the names of the plain nest, so that a schedule fits both."""
    if not fit.band:
        return
    signature = signature_of(function)
    sign(function, ["x", *signature.names[1:]], signature.declared)
    arrays = {"Z": fit.band, "buf": "row", "X": "x"}
    for op in walk(function):
        loop = string_attribute(op, "loop_name")
        if loop is not None and loop in fit.loops:
            op.attributes["loop_name"] = ir.StringAttr.get(fit.loops[loop])
            if op.parent.operation == function:
                op.attributes["op_name"] = ir.StringAttr.get(fit.band)
        if op.name == "memref.get_global":
            for use in op.results[0].uses:
                if "from" in use.owner.attributes:
                    use.owner.attributes["from"] = ir.StringAttr.get(global_of(op))
            continue
        for attribute in ("name", "from", "to"):
            name = string_attribute(op, attribute) if attribute in op.attributes else None
            if name in arrays:
                op.attributes[attribute] = ir.StringAttr.get(arrays[name])
