"""What the frontend hands on: a core IR module and what is known of its functions.

``allo.schedule.Schedule`` is built from a :class:`KernelModule` and from nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from allo.dialects.diagnostics import SourcePlace, Surprise
from allo.dialects.types import AlloType

if TYPE_CHECKING:
    from allo.dialects._mlir import ir


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """An argument or result of a function of the core IR.

    Attributes:
        name: the user's name; ``""`` for a result.
        dtype: declared element type (a ``Stream`` for a stream argument).
        shape: extents, ``()`` for a scalar, None for a dynamic extent.
        memory: the ``allo.Memory`` of the annotation, if any.
        layout: the ``Layout`` decoration of the annotation, if any.
        place: where it is declared.
    """

    name: str
    dtype: AlloType
    shape: tuple[int | None, ...]
    memory: Any = None
    layout: Any = None
    place: SourcePlace | None = None


@dataclass(slots=True)
class FunctionInfo:
    """One ``func.func``: one instance of one Python function.

    Attributes:
        name: its symbol in the module.
        origin: name of the Python ``def``.
        template_args: values of its template parameters, in order.
        instance_id: the string given in the call's brackets, or None.
        args, results: as declared.
        calls: symbols of the functions it calls, in order of first call.
        place: the ``def`` line.
        is_region: a dataflow region.
        pid: a dataflow kernel instance's coordinates, else None.
        ends: for each stream argument that is used, "put" or "get".
    """

    name: str
    origin: str
    template_args: tuple[Any, ...] = ()
    instance_id: str | None = None
    args: list[ValueInfo] = field(default_factory=list)
    results: list[ValueInfo] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    place: SourcePlace | None = None
    is_region: bool = False
    pid: tuple[int, ...] | None = None
    ends: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class KernelModule:
    """A function compiled to core IR, with every function it calls.

    Attributes:
        context: the MLIR context that owns ``module``.
        module: the core IR (``docs/internals/core_ir.md``).
        top: symbol of the top function.
        functions: symbol to what is known of it, callees before callers.
        stateful: symbol of each stateful global to (function symbol, variable name).
        ext_libs: external modules the kernels call.
        template_args: what ``instantiate`` gave, in order.
        source: the Python function, or the source text.
        surprises: places whose result may surprise, of which a build warns once.
    """

    context: ir.Context
    module: ir.Module
    top: str
    functions: dict[str, FunctionInfo] = field(default_factory=dict)
    stateful: dict[str, tuple[str, str]] = field(default_factory=dict)
    ext_libs: list[Any] = field(default_factory=list)
    template_args: tuple[Any, ...] = ()
    source: Any = None
    surprises: list[Surprise] = field(default_factory=list)

    @property
    def func_args(self) -> dict[str, list[ValueInfo]]:
        """Function symbol to its arguments (name, dtype, shape)."""
        return {name: info.args for name, info in self.functions.items()}
