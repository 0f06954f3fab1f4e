"""Whole-array functions, lowered to loops."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from allo.dialects.diagnostics import SourcePlace

from .arrays import Value
from .context import FunctionContext


def dsl_call(ctx: FunctionContext, node: ast.Call, name: str) -> Value:
    """A call of one of allo's whole-array functions."""
    raise ctx.unsupported(node, f"allo.{name} is not supported here.")


def matmul(ctx: FunctionContext, values: Sequence[Value], place: SourcePlace) -> Value:
    """``a @ b``."""
    raise NotImplementedError
