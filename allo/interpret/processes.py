"""Streams in use: put, get, gather and scatter."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import UnsupportedSyntaxError

from .body import Body
from .known import Declared
from .streams import StreamSymbol
from .values import Value


def stream_of(body: Body, node: ast.expr) -> StreamSymbol | None:
    return None


def method(body: Body, stream: StreamSymbol, func: ast.Attribute, node: ast.Call) -> Value:
    raise UnsupportedSyntaxError("Streams are not here yet.", body.place(node))


def gather_or_scatter(body: Body, name: str, node: ast.Call) -> Value:
    raise UnsupportedSyntaxError("Streams are not here yet.", body.place(node))


def declare_stream(body: Body, name: str, said: Declared, node: ast.AST) -> None:
    raise UnsupportedSyntaxError("Streams are not here yet.", body.place(node))


def bind_pid(body: Body, node: ast.Assign) -> bool:
    """``i, j = df.get_pid()``, which binds names to known numbers; whether this was it."""
    return False


def is_region(function: object, node: ast.FunctionDef) -> bool:
    """Whether a function is a dataflow region."""
    return bool(getattr(function, "__allo_region__", False))


def region(body, node, python):
    raise UnsupportedSyntaxError("Regions are not here yet.", body.place(node))


def bind_stream(body, name, said, place):
    raise UnsupportedSyntaxError("Regions are not here yet.", place)


def stream_argument(body, said, node):
    raise UnsupportedSyntaxError("Regions are not here yet.", body.place(node))
