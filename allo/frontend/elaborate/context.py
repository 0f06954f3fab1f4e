"""What elaboration knows while it walks: the module being made, the function, the scopes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from allo.dialects.diagnostics import (
    AlloError,
    CompileTimeError,
    SourcePlace,
    Surprise,
    UnknownNameError,
    UnsupportedSyntaxError,
)
from allo.dialects.text.free_name import free_name
from allo.dialects.text.near import did_you_mean
from allo.dialects.types import AlloType, Struct
from allo.frontend.syntax import last_name

from ..affine import Affine, ScalarArg, Symbol
from ..capture import MISSING, Names
from ..consteval import ConstantEvaluator, NotConstantError
from ..kernel_module import FunctionInfo
from ..rules.typing import RuleSet
from ..source import Source
from ..tree import Call, Copy, Fill, Function, Stmt, Store, StreamRef, Var
from .arrays.lazy import Value


@dataclass(slots=True, eq=False)
class IterBinding:
    """A loop iterator's name: an affine expression of the loop's own counter."""

    value: Affine
    place: SourcePlace


@dataclass(slots=True, eq=False)
class ConstBinding:
    """A compile-time value: ConstExpr, meta_for variable, template parameter, pid.

    ``dtype`` is the declared type of a ConstExpr, else None.
    """

    value: Any
    dtype: AlloType | None = None


@dataclass(slots=True, eq=False)
class NestedFunction:
    """A ``def`` inside a kernel."""

    tree: ast.FunctionDef
    owner: FunctionContext


@dataclass(slots=True, eq=False)
class StreamBinding:
    """A stream, or an array of streams, of a dataflow region; or one FIFO that a function is given.

    Attributes:
        shape: ``()`` for one FIFO.
        dtype: the ``Stream`` type of each FIFO.
        parameter: of a function that a kernel calls; None for a stream of the region.
    """

    name: str
    dtype: AlloType
    shape: tuple[int, ...]
    place: SourcePlace
    parameter: StreamRef | None = None


@dataclass(slots=True, eq=False)
class StateBinding:
    """A stateful variable that a region declares: kernel instances use it by name.

    Attributes:
        make: gives the variable of a function, from the context of that function.
        symbols: of its globals, once an instance uses it.
    """

    name: str
    make: Callable[[FunctionContext], Var | StructBinding]
    place: SourcePlace
    symbols: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class StructBinding:
    """A Struct variable, or an array of Structs: one variable a field, and the same of a Struct in it."""

    name: str
    dtype: Struct
    shape: tuple[int | None, ...]
    fields: dict[str, Var | StructBinding]
    place: SourcePlace

    def variables(self) -> list[Var]:
        """The variables of all fields, those of inner Structs in their places."""
        parts = [p if isinstance(p, Var) else p.variables() for p in self.fields.values()]
        return [var for part in parts for var in (part if isinstance(part, list) else [part])]


@dataclass(slots=True, eq=False)
class ValueBinding:
    """What a parameter of a library kernel stands for where that is elaborated in place."""

    value: Value


Binding = (
    Var
    | ScalarArg
    | IterBinding
    | ConstBinding
    | NestedFunction
    | StreamBinding
    | StateBinding
    | StructBinding
    | ValueBinding
)


@dataclass(frozen=True, slots=True)
class Language:
    """What elaborates each kind of syntax: the registry behind `dispatch`.

    Attributes:
        expressions: a handler gives the value of a node of its kind.
        statements: a handler elaborates a node of its kind into the block being filled.
        block: elaborates statements that stand one behind another.
        function, region: elaborate the body of a function, or of a dataflow region.
    """

    expressions: Mapping[type[ast.expr], Callable[[FunctionContext, Any], Any]]
    statements: Mapping[type[ast.stmt], Callable[[FunctionContext, Any], None]]
    block: Callable[[FunctionContext, list[ast.stmt]], None]
    function: Callable[[FunctionContext], None]
    region: Callable[[FunctionContext], None]


@dataclass(slots=True)
class ModuleContext:
    """One compilation: every function instance and global made so far."""

    language: Language
    rules: RuleSet
    frames: list[FrameType]
    global_vars: Any = None
    functions: list[Function] = field(default_factory=list)
    infos: dict[str, FunctionInfo] = field(default_factory=dict)
    instances: dict[Any, FunctionInfo] = field(default_factory=dict)
    trees: dict[str, Function] = field(default_factory=dict)
    building: list[FunctionInfo] = field(default_factory=list)
    declarations: list[FunctionInfo] = field(default_factory=list)
    defaults: dict[str, dict[str, ast.Constant]] = field(default_factory=dict)
    result_calls: dict[Var, Call] = field(default_factory=dict)
    symbols: set[str] = field(default_factory=set)
    constants: dict[Any, str] = field(default_factory=dict)
    stateful: dict[str, tuple[str, str]] = field(default_factory=dict)
    stateful_counts: dict[str, int] = field(default_factory=dict)
    states: dict[tuple[object, int], str] = field(default_factory=dict)
    ext_libs: list[Any] = field(default_factory=list)
    share: bool | None = None
    places: dict[ast.AST, SourcePlace] = field(default_factory=dict)
    surprises: list[Surprise] = field(default_factory=list)

    def unique_symbol(self, wanted: str) -> str:
        """``wanted``, or ``wanted_1``, ``wanted_2`` … where it is taken."""
        name = free_name(wanted, self.symbols)
        self.symbols.add(name)
        return name


class FunctionContext:
    """Elaboration of one function instance.

    Attributes:
        block: the statement list being filled.
        nests: loop nests closed so far, for band names.
        expanded: how often each whole-array function was expanded so far, less one, for band names.
        info: what will be told about the function.
        shared_parameters: groups of parameters, by name, that are one memory in this instance.
        state: what instances that differ in those groups alone have in common, as their state.
    """

    def __init__(
        self,
        module: ModuleContext,
        source: Source,
        names: Names,
        function: Function,
        info: FunctionInfo,
        outer: FunctionContext | None = None,
    ) -> None:
        self.module = module
        self.rules = module.rules
        self.source = source
        self.names = names
        self.function = function
        self.info = info
        self.outer = outer
        self.shared_parameters: frozenset[frozenset[str]] = frozenset()
        self.state: object = None
        self.ended: dict[str, SourcePlace] = {}
        self.scopes: list[dict[str, Binding]] = [{}]
        self.block: list[Stmt] = function.body
        self.nests = 0
        self.expanded: dict[str, int] = {}
        self.returned: Any = None
        self.early: Any = None
        self.depth = 0
        self.guards = 0
        self.dead = 0
        self.loop_exits: list[Any] = []
        self.symbols: dict[ScalarArg, Symbol] = {}
        self.pid: tuple[int, ...] | None = info.pid
        self.region: Any = None
        self.parts: Any = None
        self.kernel: Any = None
        self.evaluator = ConstantEvaluator(self.constant_name, self.place, self._pid_call)

    # --- places and errors -----------------------------------------------------------

    def place(self, node: ast.AST) -> SourcePlace:
        """The range of a node in the user's file."""
        found = self.module.places.get(node)
        if found is None:
            found = self.module.places[node] = self.source.place(node)
        return found

    def unsupported(self, node: ast.AST, why: str, help: str | None = None) -> AlloError:
        """The error for syntax without a meaning in a kernel."""
        return UnsupportedSyntaxError(why, self.place(node), help=help)

    # --- scopes ------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names first defined inside vanish at the end."""
        self.scopes.append({})
        try:
            yield
        finally:
            for name, binding in self.scopes.pop().items():
                if isinstance(binding, (Var, IterBinding, StructBinding)):
                    self.ended[name] = binding.place

    @contextmanager
    def into(self, block: list[Stmt]) -> Iterator[list[Stmt]]:
        """Fill another statement list."""
        before, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = before

    @contextmanager
    def conditional(self) -> Iterator[None]:
        """Inside, statements run under a condition or repeatedly."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Inside, what is written may never be executed."""
        self.guards += 1
        try:
            yield
        finally:
            self.guards -= 1

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        """Inside, nothing is ever executed: types are checked, subscripts are not."""
        self.dead += 1
        try:
            yield
        finally:
            self.dead -= 1

    def bind(self, name: str, binding: Binding) -> None:
        """Give a name a meaning in the present block; ``_`` has none."""
        if name != "_":
            self.scopes[-1][name] = binding

    def find(self, name: str) -> Binding | None:
        """What a name is bound to inside this function, or compile-time names of outer ones."""
        own = self.find_own(name)
        if own is not None:
            return own
        outer = self.outer
        while outer is not None:
            found = outer.find_own(name)
            if isinstance(found, (ConstBinding, NestedFunction, StreamBinding)):
                return found
            if isinstance(found, ScalarArg) and self.kernel is not None:
                captured: ScalarArg = self.kernel.captured_scalar(found)
                return captured
            outer = outer.outer
        return None

    def find_own(self, name: str) -> Binding | None:
        """What a name is bound to inside this function; state of the region becomes a variable here."""
        for scope in reversed(self.scopes):
            if name not in scope:
                continue
            found = scope[name]
            if isinstance(found, StateBinding) and self.kernel is not None:
                found = scope[name] = self.kernel.state(found, self)
            return found
        return None

    def emit(self, statement: Stmt) -> None:
        """Append a statement, noting what it writes."""
        self.block.append(statement)
        if isinstance(statement, (Store, Fill)):
            self.write(statement.var)
        elif isinstance(statement, Copy):
            self.write(statement.target)

    def write(self, var: Var) -> None:
        """Note that ``var`` is stored into; a declared constant becomes a local copy."""
        self.function.written.add(var)
        if var.kind == "const":
            var.kind = "local"

    # --- names -------------------------------------------------------------------------

    def captured(self, name: str) -> Any:
        """The value of a free name, or ``MISSING``."""
        return self.names.lookup(name)

    def unknown_name(self, node: ast.AST, name: str) -> UnknownNameError:
        """The error for a name without a meaning, with what may have been meant."""
        message, place = f"The name {name!r} is not defined.", self.place(node)
        if name in self.ended:
            return UnknownNameError(
                message,
                place,
                help=f"declare {name} before the block, so that it lives on after it.",
                notes=((f"{name} ended with the block it was defined in", self.ended[name]),),
            )
        if self.kernel is not None and self.outer is not None:
            argument = self.outer.find_own(name)
            if isinstance(argument, Var):
                return UnknownNameError(
                    message,
                    place,
                    help=f"{name} is an array of the region: name it in args=[...] and give the "
                    "kernel a parameter for it.",
                    notes=((f"{name} of the region", argument.place),),
                )
        outer = self.outer.find_own(name) if self.outer is not None else None
        if isinstance(outer, (Var, ScalarArg)):
            return UnknownNameError(
                message,
                place,
                help=f"a nested function does not see the variables around it: pass {name} as an "
                "argument.",
                notes=((f"{name} of the function around it", outer.place),),
            )
        visible = {n for scope in self.scopes for n in scope} | self.names.known()
        hint = did_you_mean(name, visible).strip()
        return UnknownNameError(
            message,
            place,
            help=hint
            or "assign it first, make it an argument, or define it where the kernel is defined.",
        )

    def constant_name(self, node: ast.Name) -> Any:
        """The compile-time value of a name."""
        found = self.find(node.id)
        if isinstance(found, ConstBinding):
            return found.value
        if isinstance(found, NestedFunction):
            raise NotConstantError(self.place(node), f"{node.id} is a function of the kernel")
        if found is not None:
            raise NotConstantError(self.place(node), f"{node.id} is known only at run time")
        value = self.captured(node.id)
        if value is MISSING:
            raise self.unknown_name(node, node.id)
        return value

    def _pid_call(self, node: ast.Call) -> Any:
        """The value of ``get_pid()`` in a compile-time expression, or ``MISSING``."""
        if last_name(node) != "get_pid":
            return MISSING
        if self.pid is None:
            raise UnsupportedSyntaxError(
                "get_pid() has a value only in a df.kernel.",
                self.place(node),
                help="use it inside a kernel of a df.region.",
            )
        return self.pid[0] if len(self.pid) == 1 else self.pid

    def constant(self, node: ast.expr, what: str) -> Any:
        """The compile-time value of an expression that must have one.

        Raises:
            CompileTimeError: naming ``what`` must be constant and which name is not.
        """
        try:
            return self.evaluator.evaluate(node)
        except NotConstantError as error:
            raise CompileTimeError(
                f"{what} must be known at compile time, but {error.reason}.",
                error.place,
                help="use a number, a captured Python value, a template parameter, a ConstExpr "
                "or a meta_for variable.",
            ) from None

    def constant_int(self, node: ast.expr, what: str) -> int:
        """A compile-time integer."""
        value = self.constant(node, what)
        number = as_int(value)
        if number is None:
            raise CompileTimeError(
                f"{what} must be an integer, not {value!r}.", self.place(node), help="use an int."
            )
        return number

    def try_constant(self, node: ast.expr) -> Any:
        """The compile-time value of an expression, or ``MISSING`` where it has none."""
        try:
            return self.evaluator.evaluate(node)
        except (NotConstantError, CompileTimeError, UnknownNameError):
            return MISSING


def as_int(value: Any) -> int | None:
    """``value`` as a Python int, if it is one (NumPy integers and whole index types included)."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    item = getattr(value, "__index__", None)
    return item() if item is not None else None
