"""Small edits of a program's text, on its syntax tree: what the shrinker tries."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from .generator.program import Argument, Program

Edit = Callable[[ast.Module], bool]
"""Changes a tree in place; whether it did."""


def edited(program: Program, edit: Edit) -> Program | None:
    """The program with an edit, or None where the edit does not apply."""
    tree = ast.parse(program.source)
    if not edit(tree):
        return None
    top = _top(tree)
    if top is None or top.name != program.top:
        return None
    made = copy.copy(program)
    ast.fix_missing_locations(tree)
    made.source = ast.unparse(tree) + "\n"
    made.arguments = _arguments(top, program)
    return made if made.source != program.source else None


def edits(program: Program) -> Iterator[list[Edit]]:
    """Edits in passes, the coarse ones first."""
    tree = ast.parse(program.source)
    nodes = len(list(ast.walk(tree)))
    yield [_drop_statement(n) for n in reversed(range(nodes)) if _is_block(tree, n)]
    yield [_unwrap(n) for n in range(nodes) if _is_compound(tree, n)]
    yield [_drop_argument(n) for n in reversed(range(len(program.arguments)))]
    yield [_simpler(n, k) for n in range(nodes) if _is_expression(tree, n) for k in range(4)]
    yield [_smaller(n) for n in range(nodes) if _is_number(tree, n)]
    yield [_plain_type(n, k) for n in range(nodes) if _is_type(tree, n) for k in range(2)]


def _node(tree: ast.Module, number: int) -> ast.AST:
    for position, node in enumerate(ast.walk(tree)):
        if position == number:
            return node
    raise IndexError(number)


# --- statements -----------------------------------------------------------------


def _is_block(tree: ast.Module, number: int) -> bool:
    return isinstance(_node(tree, number), ast.stmt)


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                yield body


def _drop_statement(number: int) -> Edit:
    def edit(tree: ast.Module) -> bool:
        node = _node(tree, number)
        if isinstance(node, (ast.Pass, ast.Import, ast.ImportFrom)):
            return False
        for body in _bodies(tree):
            if node in body:
                body.remove(node)  # type: ignore[arg-type]
                if not body:
                    body.append(ast.Pass())
                return True
        return False

    return edit


def _is_compound(tree: ast.Module, number: int) -> bool:
    return isinstance(_node(tree, number), (ast.If, ast.For, ast.While))


def _unwrap(number: int) -> Edit:
    """An ``if`` becomes its body; a loop runs once, or its body stands alone."""

    def edit(tree: ast.Module) -> bool:
        node = _node(tree, number)
        inside = list(getattr(node, "body", []))
        if isinstance(node, (ast.For, ast.While)):
            used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            targets = {
                n.id for n in ast.walk(getattr(node, "target", node)) if isinstance(n, ast.Name)
            }
            counted = sum(
                isinstance(n, ast.Name) and n.id in targets for b in inside for n in ast.walk(b)
            )
            if isinstance(node, ast.For) and counted and used:
                return False
        for body in _bodies(tree):
            if node in body:
                at = body.index(node)  # type: ignore[arg-type]
                body[at : at + 1] = inside
                return True
        return False

    return edit


# --- arguments ------------------------------------------------------------------


def _drop_argument(position: int) -> Edit:
    def edit(tree: ast.Module) -> bool:
        top = _top(tree)
        if top is None or position >= len(top.args.args):
            return False
        name = top.args.args[position].arg
        if any(isinstance(n, ast.Name) and n.id == name for b in top.body for n in ast.walk(b)):
            return False
        del top.args.args[position]
        return True

    return edit


def _top(tree: ast.Module) -> ast.FunctionDef | None:
    """The function that stands last: the program's top."""
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    return functions[-1] if functions else None


_TYPE = re.compile(
    r"^(?P<kind>U?Int\((?P<bits>\d+)\)|U?Fixed\((?P<b>\d+), (?P<f>\d+)\)|b?float\d+|index)"
    r"(\[(?P<shape>[\d, ]+)\])?$"
)


def _arguments(top: ast.FunctionDef, program: Program) -> list[Argument]:
    """The arguments as the edited top declares them."""
    known = {argument.name: argument for argument in program.arguments}
    made = []
    for about in top.args.args:
        argument = known[about.arg]
        match = _TYPE.match(ast.unparse(about.annotation)) if about.annotation else None
        if match and not argument.fields:
            bits = int(match["bits"] or match["b"] or argument.bits)
            shape = None
            if match["shape"]:
                shape = tuple(int(n) for n in match["shape"].split(","))
            argument = replace(
                argument, kind=match["kind"], bits=bits, frac=int(match["f"] or 0), shape=shape
            )
        made.append(argument)
    return made


# --- expressions ----------------------------------------------------------------


def _is_expression(tree: ast.Module, number: int) -> bool:
    node = _node(tree, number)
    simple = (ast.Constant, ast.Name, ast.Slice, ast.Tuple)
    return isinstance(node, ast.expr) and not isinstance(node, simple)


def _simpler(number: int, choice: int) -> Edit:
    """An expression becomes one of its operands, or 1."""

    def edit(tree: ast.Module) -> bool:
        node = _node(tree, number)
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return False
        inside = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        if isinstance(node, ast.Subscript):
            inside = []
        options: list[ast.expr] = [*inside[:3], ast.Constant(1)]
        if choice >= len(options):
            return False
        return _put(tree, node, options[choice])

    return edit


def _put(tree: ast.Module, old: ast.AST, new: ast.expr) -> bool:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if name in ("annotation", "returns", "decorator_list", "target", "targets", "func"):
                continue
            if value is old:
                setattr(parent, name, new)
                return True
            if isinstance(value, list) and any(v is old for v in value):
                value[[v is old for v in value].index(True)] = new
                return True
    return False


def _is_number(tree: ast.Module, number: int) -> bool:
    node = _node(tree, number)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _smaller(number: int) -> Edit:
    def edit(tree: ast.Module) -> bool:
        node = _node(tree, number)
        if not isinstance(node, ast.Constant) or not isinstance(node.value, (int, float)):
            return False
        if node.value in (0, 1, 2):
            return False
        node.value = 1 if node.value < 8 else type(node.value)(node.value // 2)
        return True

    return edit


def _is_type(tree: ast.Module, number: int) -> bool:
    node = _node(tree, number)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("Int", "UInt", "Fixed", "UFixed")
    )


def _plain_type(number: int, choice: int) -> Edit:
    """A type becomes Int(32), or one of eight bits."""

    def edit(tree: ast.Module) -> bool:
        node = _node(tree, number)
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        bits = node.args[0]
        if not isinstance(bits, ast.Constant):
            return False
        if choice == 0:
            if node.func.id == "Int" and bits.value == 32:
                return False
            node.func, node.args = ast.Name("Int", ast.Load()), [ast.Constant(32)]
            return True
        if not isinstance(bits.value, int) or bits.value <= 8 or len(node.args) > 1:
            return False
        node.args = [ast.Constant(8)]
        return True

    return edit
