"""Kernels given to ``replace``: what comes with them, and their signatures beside those of modules."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.signature import symbol
from allo.dialects.diagnostics import FrontendError, HandleTypeError, ScheduleError, SourcePlace
from allo.dialects.types import AlloType, parse_type
from allo.frontend.kernel_module import FunctionInfo
from allo.schedule.state import ScheduleState

from ..places import place_of_caller
from ..text import identifier


@dataclass(frozen=True, slots=True)
class GivenKernel:
    """A kernel with the template arguments and the schedule that it comes with.

    Attributes:
        function: the Python function.
        template: template arguments; None where its call determines them.
        schedule: what to replay; None for the default schedule, if it has one.
    """

    function: Any
    template: Sequence[Any] | None
    schedule: ScheduleState | None

    @property
    def name(self) -> str:
        """Of the function."""
        return str(getattr(self.function, "__name__", "kernel"))

    @property
    def parameters(self) -> int:
        """How many arguments it takes."""
        return len(inspect.signature(self.function).parameters)

    @property
    def place(self) -> SourcePlace | None:
        """Its first line."""
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        return None if code is None else SourcePlace(code.co_filename, code.co_firstlineno)

    def written(self) -> str:
        """Its signature as its author wrote it."""
        signature = inspect.signature(self.function)
        args = [f"{p.name}: {_annotation(p.annotation)}" for p in signature.parameters.values()]
        return f"{self.name}({', '.join(args)}) -> {_annotation(signature.return_annotation)}"


def given_kernel(kernel: Any, instantiate: Sequence[Any] | None) -> GivenKernel:
    """A kernel, or its Schedule.

    Raises:
        HandleTypeError: something else.
    """
    if isinstance(kernel, ScheduleState):
        function = getattr(kernel.kernel, "source", None)
        if callable(function):
            return GivenKernel(function, list(kernel.kernel.template_args), kernel)
    elif callable(kernel):
        return GivenKernel(kernel, instantiate, None)
    raise HandleTypeError(
        f"replace takes a kernel or its Schedule, not {type(kernel).__name__}.",
        place_of_caller(),
        help="a kernel is a function of the language; its Schedule is allo.customize(kernel).",
    )


@dataclass(frozen=True, slots=True)
class ModuleSignature:
    """What a module takes and returns.

    Attributes:
        path: of the module.
        function: its function in the design.
        info: what is known of the function.
        inputs: how many of the function's arguments are inputs of the module; weights stand behind.
        weights: the parameters of the module, then its buffers, by name.
        types: their element types in the design.
    """

    path: str
    function: ir.Operation
    info: FunctionInfo
    inputs: int
    weights: Mapping[str, Any]
    types: Mapping[str, AlloType]

    def misfit(
        self,
        kernel: GivenKernel,
        info: FunctionInfo | None = None,
        why: FrontendError | None = None,
    ) -> ScheduleError:
        """The error for a kernel of another signature.

        Args:
            kernel: the kernel.
            info: it as it was compiled, if it was.
            why: why it was not.
        """
        inputs = [_argument(a.name, a.dtype, a.shape) for a in self.info.args[: self.inputs]]
        behind = [_argument(n, self.types[n], w.shape or (1,)) for n, w in self.weights.items()]
        result = _results(self.info)
        mine = f"({', '.join(inputs)}) -> {result}"
        if behind:
            mine += f", or with its weights ({', '.join([*inputs, *behind])}) -> {result}"
        return ScheduleError(
            f"Kernel {kernel.name} cannot replace module {self.path!r}, whose signature is {mine}; "
            f"that of the kernel is {kernel.written() if info is None else _compiled(kernel, info)}.",
            place_of_caller(),
            notes=() if why is None else (f"compiled for this module: {str(why).splitlines()[0]}",),
            help="give the kernel the inputs of the module, or its inputs and all its weights.",
        )


def weight_types(module: ir.Module, path: str, weights: Mapping[str, Any]) -> dict[str, AlloType]:
    """The element type of each weight: that of the constant in the design, else PyTorch's."""
    constants = {
        symbol(op): op.operation
        for op in module.body.operations
        if op.operation.name == "memref.global"
    }
    found = {}
    for name, array in weights.items():
        constant = constants.get(f"g_{identifier(f'{path}.{name}' if path else name)}")
        found[name] = _of_numpy(array) if constant is None else _of_constant(constant)
    return found


def _of_numpy(array: Any) -> AlloType:
    letters = {"f": "f", "i": "i", "u": "ui"}
    name = "ui1" if array.dtype.kind == "b" else f"{letters[array.dtype.kind]}{array.itemsize * 8}"
    return parse_type(name)


def _of_constant(op: ir.Operation) -> AlloType:
    if "dtype" in op.attributes:
        return parse_type(str(ir.StringAttr(op.attributes["dtype"]).value))
    element = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value).element_type
    return parse_type(f"u{element}" if "unsigned" in op.attributes else str(element))


def _argument(name: str, dtype: AlloType, shape: Sequence[int | None]) -> str:
    return f"{name}: {_typed(dtype, shape)}"


def _typed(dtype: AlloType, shape: Sequence[int | None]) -> str:
    return f"{dtype.name}{list(shape) if shape else ''}"


def _results(info: FunctionInfo) -> str:
    listed = [_typed(r.dtype, r.shape) for r in info.results]
    return listed[0] if len(listed) == 1 else f"({', '.join(listed)})"


def _compiled(kernel: GivenKernel, info: FunctionInfo) -> str:
    args = ", ".join(_argument(a.name, a.dtype, a.shape) for a in info.args)
    return f"{kernel.name}({args}) -> {_results(info)}"


def _annotation(value: Any) -> str:
    if value is inspect.Signature.empty:
        return "None"
    return value if isinstance(value, str) else str(value)
