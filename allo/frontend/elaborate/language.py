"""The language of kernels: which handler elaborates which kind of syntax."""

from __future__ import annotations

import ast

from .context import Language
from .expressions import attributes, calls, guards, names, operators, subscripts
from .functions import regions
from .statements import assignment, branches, declarations, loops, meta, returns

LANGUAGE = Language(
    expressions={
        ast.Constant: names.literal,
        ast.Name: names.name,
        ast.BinOp: operators.binary,
        ast.UnaryOp: operators.unary,
        ast.Compare: guards.compare,
        ast.BoolOp: guards.logic,
        ast.IfExp: guards.choice,
        ast.List: names.array_literal,
        ast.Tuple: names.array_literal,
        ast.Call: calls.call,
        ast.Subscript: subscripts.read,
        ast.Attribute: attributes.attribute,
    },
    statements={
        ast.AnnAssign: declarations.declaration,
        ast.FunctionDef: declarations.function,
        ast.Assign: assignment.assign,
        ast.AugAssign: assignment.augmented,
        ast.Expr: assignment.expression_statement,
        ast.Pass: assignment.nothing,
        ast.Assert: assignment.assertion,
        ast.Return: returns.return_statement,
        ast.For: loops.for_loop,
        ast.While: loops.while_loop,
        ast.If: branches.if_statement,
        ast.Break: branches.leave,
        ast.Continue: branches.leave,
        ast.With: meta.with_statement,
    },
    block=branches.block,
    function=returns.function_body,
    region=regions.region_body,
)
