"""The translation of one function: its names, its scopes and the text written so far."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from allo.dialects.diagnostics import (
    AlloError,
    CompileTimeError,
    FrontendError,
    SourcePlace,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType

from .expressions.values import Symbol, Value
from .known import Declared, Known, as_type, declared, free_names, owner_names
from .names import ABSENT, Names
from .program import Program
from .source import SourceText
from .statements.streams import OneFifo

Entry = Any
"""What a name may stand for: ``Symbol``, ``Known`` or ``StreamSymbol``."""


class Body:
    """One function while it is translated.

    Attributes:
        program: the whole.
        text: where the syntax tree comes from.
        names: what its free names mean.
        lines: the translated text.
        results: the declared results.
        is_generator: the function waits for streams, so it is a Python generator.
        is_endless: a loop of the function never ends, or one of what it calls.
        assigned: the names that some statement stores to.
        pid: the coordinates of a kernel's instance.
        process: the name of a kernel's instance.
        is_region: the function is a region.
        uses: the FIFOs of the region that a kernel's instance uses, by their Python names.
        label: the name of the function for messages.
    """

    def __init__(self, program: Program, text: SourceText, names: Names, label: str) -> None:
        self.program = program
        self.text = text
        self.names = names
        self.label = label
        self.lines: list[str] = []
        self.results: list[Declared] = []
        self.is_generator = False
        self.is_endless = False
        self.pid: tuple[int, ...] | None = None
        self.scopes: list[dict[str, Entry]] = [{}]
        self.ended: dict[str, SourcePlace] = {}
        self.depth = 1
        self.loops = 0
        self.uses: dict[str, OneFifo] = {}
        self.assigned: set[str] = set()
        self.is_region = False
        self.process = ""

    # --- text -------------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        """Append one line of text."""
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def indented(self) -> Iterator[None]:
        """A block of text with a scope of its own."""
        self.depth += 1
        before = len(self.lines)
        with self.scope():
            yield
        if len(self.lines) == before:
            self.emit("pass")
        self.depth -= 1

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names that end with a block."""
        self.scopes.append({})
        try:
            yield
        finally:
            for name in self.scopes.pop():
                self.ended[name] = SourcePlace(self.text.file, 1)

    def temporary(self) -> str:
        """A fresh Python name."""
        return f"t{self.program.fresh()}"

    def keep(self, code: str) -> str:
        """Write an expression to a temporary; the temporary."""
        name = self.temporary()
        self.emit(f"{name} = {code}")
        return name

    def place(self, node: ast.AST) -> SourcePlace:
        """Where a node stands."""
        return self.text.place(node)

    def place_code(self, node: ast.AST) -> str:
        """The number by which the text refers to a place."""
        return str(self.program.place_number(self.text.place(node)))

    # --- names ------------------------------------------------------------------------------

    def find(self, name: str) -> Entry | None:
        """What a name stands for; None where it means nothing."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        value = self.names.find(name)
        return None if value is ABSENT else Known(value)

    def entry(self, node: ast.Name) -> Entry:
        """What a name stands for.

        Raises:
            UnknownNameError: when it means nothing here.
        """
        found = self.find(node.id)
        if found is not None:
            return found
        if node.id in self.ended:
            raise UnknownNameError(
                f"The name {node.id!r} ended with its block.",
                self.place(node),
                help="declare it before the block.",
            )
        raise UnknownNameError(f"The name {node.id!r} is not defined.", self.place(node))

    def bind(self, name: str, entry: Entry) -> None:
        """Give a name a meaning in the present block."""
        self.scopes[-1][name] = entry

    def visible(self, name: str) -> Any:
        """A name of the function itself, not a captured one."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def declare(
        self, name: str, dtype: AlloType, shape: tuple[int, ...] | None = None, **more: Any
    ) -> Symbol:
        """A new variable in the present block."""
        symbol = Symbol(name, f"{name}_{self.program.fresh()}", dtype, shape, **more)
        self.bind(name, symbol)
        return symbol

    def known_names(self) -> dict[str, Known]:
        """The names with known values that a function written here sees."""
        found: dict[str, Known] = {}
        for scope in self.scopes:
            found.update({k: v for k, v in scope.items() if isinstance(v, Known)})
        return found

    # --- values known now ---------------------------------------------------------------------

    def is_known(self, node: ast.AST) -> bool:
        """Whether every name of an expression has a known value."""
        return all(isinstance(self.find(name), Known) for name in free_names(node))

    def evaluate(self, node: ast.expr, what: str) -> Any:
        """The value of an expression, computed by Python now.

        Raises:
            CompileTimeError: when it needs what is not known, or fails.
        """
        values: dict[str, Any] = {"__builtins__": {}}
        before_brackets = owner_names(node)
        for name in sorted(free_names(node)):
            entry = self.find(name)
            if entry is None:
                raise UnknownNameError(
                    f"The name {name!r} is not defined.", self._place_of_name(node, name)
                )
            if not isinstance(entry, Known):
                raise CompileTimeError(
                    f"{what} must be known while compiling, and {name!r} is a variable.",
                    self.place(node),
                    help="use a literal, a captured number or a ConstExpr.",
                )
            meant = as_type(entry.value) if name in before_brackets else None
            values[name] = meant or entry.value
        try:
            code = compile(ast.Expression(node), self.text.file, "eval")
            return eval(code, values)
        except FrontendError:
            raise
        except AlloError as error:
            raise CompileTimeError(error.message, self.place(node), help=error.help) from error
        except Exception as error:
            raise CompileTimeError(
                f"{what} cannot be evaluated: {type(error).__name__}: {error}.", self.place(node)
            ) from error

    def _place_of_name(self, node: ast.AST, name: str) -> SourcePlace:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id == name:
                return self.place(part)
        return self.place(node)

    def annotation(self, node: ast.expr) -> Declared:
        """What an annotation says.

        Raises:
            UnknownNameError: when it names no type.
        """
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            inner = ast.parse(node.value.strip(), mode="eval").body
            for part in ast.walk(inner):
                ast.copy_location(part, node)
            return self.annotation(inner)
        found = declared(self.evaluate(node, "A type"))
        if found is None:
            raise UnknownNameError(f"{ast.unparse(node)!r} is no type.", self.place(node))
        return found

    # --- shared by the parts of the translator ----------------------------------------------------

    def form[F](self, forms: Mapping[type, F], node: ast.AST) -> F:
        """What translates a node.

        Raises:
            UnsupportedSyntaxError: Python without a meaning in a kernel.
        """
        found = forms.get(type(node))
        if found is None:
            raise UnsupportedSyntaxError(
                f"{type(node).__name__} has no meaning in a kernel.", self.place(node)
            )
        return found

    def expression(self, node: ast.expr) -> Value:
        """The translation of an expression."""
        return self.program.language.expression(self, node)

    def scalar(self, node: ast.expr) -> Value:
        """The translation of an expression that is one value.

        Raises:
            TypeMismatchError: when it is an array.
        """
        value = self.expression(node)
        if value.is_array or value.parts:
            raise TypeMismatchError("One value is needed here, not an array.", self.place(node))
        return value
