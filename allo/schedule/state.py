"""What a schedule holds: the module under customisation and what was done to it.

The primitives and what serves them are written on :class:`ScheduleState`;
:class:`~allo.schedule.schedule.Schedule` adds the primitives to it as methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from allo.dialects._mlir import ir
from allo.dialects.core.signature import function_type
from allo.dialects.diagnostics import Surprise

from .resolve import find_function


class Kernel(Protocol):
    """What a schedule is made of: the frontend's ``KernelModule``, or a :class:`TextKernel`."""

    context: ir.Context
    module: ir.Module
    top: str
    functions: dict[str, Any]
    stateful: dict[str, tuple[str, str]]
    ext_libs: list[Any]
    template_args: tuple[Any, ...]
    surprises: list[Surprise]

    @property
    def func_args(self) -> dict[str, list[Any]]:
        """The arguments of each function: name, type and shape."""


@dataclass(slots=True)
class TextKernel:
    """A kernel that came as MLIR text; nothing is known of its Python."""

    context: ir.Context
    module: ir.Module
    top: str
    functions: dict[str, Any] = field(default_factory=dict)
    stateful: dict[str, tuple[str, str]] = field(default_factory=dict)
    ext_libs: list[Any] = field(default_factory=list)
    template_args: tuple[Any, ...] = ()
    surprises: list[Surprise] = field(default_factory=list)

    @property
    def func_args(self) -> dict[str, list[Any]]:
        """Nothing: the text names no Python arguments."""
        return {}


class ScheduleState:
    """A kernel's module, and the record of what was applied to it.

    Attributes:
        context: the MLIR context that owns ``module``.
        module: the core IR; ``print(s.module)`` shows it.
        top_func_name: the kernel's name.
        kernel: what the frontend knows of the kernel.
        primitive_sequences: the applied primitives, ``(name, args, kwargs)``, for ``compose``.
        partitioned_arrays: ``"func:array"`` to its ``(dim, kind, factor)`` calls.
        asserted: whether a dependence has been asserted.
        original_signature: the type of the top function before any primitive.
    """

    context: ir.Context
    module: ir.Module
    top_func_name: str
    kernel: Kernel
    primitive_sequences: list[tuple[str, list[Any], dict[str, Any]]]
    partitioned_arrays: dict[str, list[tuple[int, Any, int]]]
    asserted: bool
    original_signature: ir.FunctionType

    def __init__(self, kernel: Kernel) -> None:
        self.context = kernel.context
        self.module = kernel.module
        self.top_func_name = kernel.top
        self.kernel = kernel
        self.primitive_sequences = []
        self.partitioned_arrays = {}
        self.asserted = False
        with self.context:
            top = find_function(self.module, self.top_func_name)
            self.original_signature = function_type(top)

    def check_step(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Called when a primitive has changed the module; an error raised here undoes the change.

        Args:
            name: of the primitive.
            args, kwargs: what it was called with.
        """
