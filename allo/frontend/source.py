"""Where a function's text lies: its syntax tree with true lines and columns."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

from allo.dialects import types
from allo.dialects.diagnostics import (
    AlloError,
    FrontendError,
    SourcePlace,
    UnsupportedSyntaxError,
)

_TEXT = "<allo source"
_TEXTS_KEPT = 256


@dataclass(frozen=True, slots=True)
class Source:
    """A function definition in a file.

    Attributes:
        file: path, or a name under which ``linecache`` has the text.
        lines: the file's lines.
        tree: the ``def``, named as the function is.
        written: the name in the text, where the function was given another one.
    """

    file: str
    lines: tuple[str, ...]
    tree: ast.FunctionDef
    written: str | None = None

    def place(self, node: ast.AST) -> SourcePlace:
        """The range of a node; columns count characters from 1."""
        line, end_line = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
        col = self._column(line, node.col_offset)  # type: ignore[attr-defined]
        end_col = self._column(end_line, node.end_col_offset)  # type: ignore[attr-defined]
        return SourcePlace(self.file, line, col, end_line, end_col)

    def header(self) -> SourcePlace:
        """The name in the ``def`` line."""
        node = self.tree
        start = self._column(node.lineno, node.col_offset) + len("def ")
        width = len(self.written or node.name)
        return SourcePlace(self.file, node.lineno, start, node.lineno, start + width)

    def nested(self, tree: ast.FunctionDef) -> Source:
        """A function defined inside this one."""
        return Source(self.file, self.lines, tree)

    def _column(self, line: int, offset: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode(errors="ignore")) + 1


def source_of(fn: Callable[..., Any]) -> Source:
    """The definition of a Python function.

    A function that a factory made may have a ``__name__`` of its own, which is then the kernel's.

    Raises:
        FrontendError: when the text cannot be had, or is no longer what was imported.
    """
    code = fn.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    if not lines:
        raise FrontendError(
            f"The source of {fn.__name__!r} cannot be read (it was defined in {code.co_filename}).",
            help="put the kernel in a file, or pass its source text and global_vars.",
        )
    if code.co_name == "<lambda>":
        raise UnsupportedSyntaxError(
            "A lambda cannot be a kernel: its arguments have no types.",
            SourcePlace(code.co_filename, code.co_firstlineno),
            help="write it with def and annotate what it takes and returns.",
        )
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise UnsupportedSyntaxError(
            f"{fn.__name__!r} is an async function, which is no kernel.",
            SourcePlace(code.co_filename, code.co_firstlineno),
            help="write it with def alone; processes that run at once are the kernels of a df.region.",
        )
    exact = isinstance(fn.__globals__.get("__loader__"), SourceFileLoader)
    tree = _definition(code, code.co_filename, tuple(lines), exact)
    if exact and _declares_otherwise(fn, tree):
        raise _changed(code)
    if fn.__name__ == tree.name or not fn.__name__.isidentifier():
        return Source(code.co_filename, tuple(lines), tree)
    named = copy.copy(tree)
    named.name = fn.__name__
    return Source(code.co_filename, tuple(lines), named, written=tree.name)


def source_of_text(text: str) -> Source:
    """The first function of a source text, registered so that carets can be drawn."""
    name = f"{_TEXT} {abs(hash(text)):x}>"
    lines = text.splitlines(keepends=True)
    _register(name, text, lines)
    try:
        module = ast.parse(text, name)
    except SyntaxError as error:
        place = SourcePlace(name, error.lineno or 1, error.offset or 1)
        raise FrontendError(
            f"The source text is not Python: {error.msg}.",
            place,
            help="the caret shows where Python stopped reading.",
        ) from error
    except (RecursionError, ValueError) as error:
        raise FrontendError(
            f"The source text cannot be read by Python: {error}.",
            SourcePlace(name, 1),
            help="write it in smaller pieces, and without NUL characters.",
        ) from error
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            return Source(name, tuple(lines), node)
    raise FrontendError("The source text defines no function.", help="write one def in it.")


def _register(name: str, text: str, lines: list[str]) -> None:
    """Let ``linecache`` know a text, and forget the oldest of many."""
    linecache.cache[name] = (len(text), None, lines, name)
    ours = [known for known in list(linecache.cache) if known.startswith(_TEXT)]
    for old in ours[:-_TEXTS_KEPT]:
        linecache.cache.pop(old, None)


_PARTS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Fields of statements that hold statements."""


@lru_cache(maxsize=32)
def _definitions(file: str, text: tuple[str, ...]) -> dict[int, list[ast.FunctionDef]]:
    found: dict[int, list[ast.FunctionDef]] = {}
    pending: deque[ast.AST] = deque([ast.parse("".join(text), file)])
    while pending:
        node = pending.popleft()
        if isinstance(node, ast.FunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            found.setdefault(first, []).append(node)
        for part in _PARTS:  # No expression holds a definition.
            pending += getattr(node, part, ())
    return found


def _definition(code: CodeType, file: str, lines: tuple[str, ...], exact: bool) -> ast.FunctionDef:
    try:
        candidates = _definitions(file, lines).get(code.co_firstlineno, [])
    except (SyntaxError, RecursionError, ValueError):
        candidates = []
    for node in candidates:
        if node.name == code.co_name and _arguments(node) == _code_arguments(code):
            if _is_edited(code, file, lines, exact):
                break
            return node
    raise _changed(code)


def _changed(code: CodeType) -> FrontendError:
    return FrontendError(
        f"The file of {code.co_name!r} changed after it was imported.",
        SourcePlace(code.co_filename, code.co_firstlineno),
        help="import it again, so that the running function and its text agree.",
    )


@lru_cache(maxsize=32)
def _compiled(file: str, text: tuple[str, ...]) -> dict[tuple[str, int], CodeType]:
    """The functions of a text as Python compiles them now, by name and first line."""
    found: dict[tuple[str, int], CodeType] = {}
    rest = [compile("".join(text), file, "exec", dont_inherit=True)]
    while rest:
        code = rest.pop()
        found[code.co_qualname, code.co_firstlineno] = code
        rest += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def _is_edited(code: CodeType, file: str, lines: tuple[str, ...], exact: bool) -> bool:
    """Whether the text says something else than the code in memory.

    Only of modules that Python itself imported: pytest and others compile what they changed before.
    """
    if not exact:
        return False
    try:
        now = _compiled(file, lines).get((code.co_qualname, code.co_firstlineno))
    except (SyntaxError, ValueError):
        return False
    has_columns = any(column is not None for *_, column in code.co_positions())
    return now is not None and _meaning(now, has_columns) != _meaning(code, has_columns)


def _meaning(code: CodeType, has_columns: bool) -> tuple[object, ...]:
    """What a function computes, and where: -0.0 and 0.0, 1 and True are told apart.

    Python forgets what local variables are declared as, so columns tell most changes of these.
    """
    constants = tuple(
        _meaning(each, has_columns)
        if isinstance(each, CodeType)
        else (type(each), sorted(map(repr, each)) if isinstance(each, frozenset) else repr(each))
        for each in code.co_consts
    )
    places = tuple(code.co_positions() if has_columns else code.co_lines())
    return code.co_code, constants, code.co_names, code.co_varnames, places


def _declares_otherwise(fn: Callable[..., Any], tree: ast.FunctionDef) -> bool:
    """Whether the text gives arguments or the result other types than the function in memory has."""
    nodes = {a.arg: a.annotation for a in (*tree.args.args, *tree.args.kwonlyargs)}
    nodes["return"] = tree.returns
    written = {name: ast.unparse(node) for name, node in nodes.items() if node is not None}
    if written.keys() != fn.__annotations__.keys():
        return True
    return any(
        text != fn.__annotations__[name] and _gives_other(text, fn.__annotations__[name], fn)
        for name, text in written.items()
    )


def _gives_other(text: str, known: object, fn: Callable[..., Any]) -> bool:
    """Whether an annotation gives another type now; False where it may have another reason than an edit.

    Only of names of Allo's types: others may stand for something else than when the function was defined.
    """
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    if any(fn.__globals__.get(name, name) is not vars(types).get(name) for name in names):
        return False
    try:
        first, second = (eval(text, dict(vars(types))) for _ in range(2))
    except (TypeError, ValueError, AlloError):
        return False
    return bool(first == second and first != known)


def _arguments(node: ast.FunctionDef) -> tuple[str, ...]:
    args = node.args
    return tuple(a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs))


def _code_arguments(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
