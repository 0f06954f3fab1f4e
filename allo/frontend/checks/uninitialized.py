"""Reads of what nothing has stored into: a warning where the program's text alone shows it.

A scalar is followed along the statements: a read warns where no store can have come before it on any
way. In a loop a read under a condition may wait for a store of an earlier iteration, and is let
pass. An array warns only where nothing in the whole function stores into it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TypeGuard

from allo.dialects.diagnostics import SourcePlace, UninitializedWarning
from allo.frontend.checks.spans import evaluated, loads

from ..tree import (
    Call,
    Copy,
    Declare,
    Expr,
    Fill,
    For,
    Function,
    Get,
    If,
    Put,
    Stmt,
    Store,
    Var,
    View,
    While,
)

Read = tuple[Var, SourcePlace]


def warn_uninitialized(function: Function, warned: set[object]) -> None:
    """Warn of every read of a local that nothing has stored into, once a place."""
    finder = _Finder(function)
    finder.block(function.body, set(), frozenset(), in_loop=False)
    for var, place in finder.found:
        key = (var.name, var.place, place)
        if key in warned:
            continue
        warned.add(key)
        what = "array" if var.shape else "variable"
        lines = [
            f"{place}: The {what} {var.name} is read, and nothing has been stored in it.",
            place.excerpt(),
            f"help: give it a value where it is declared: {var.name}: … = 0.",
        ]
        warnings.warn("\n".join(line for line in lines if line), UninitializedWarning, stacklevel=2)


class _Finder:
    """Follows the statements of one function.

    Attributes:
        found: reads of what nothing has stored into, in order.
    """

    def __init__(self, function: Function) -> None:
        self.found: list[Read] = []
        self._written = function.written
        self._seen: set[Var] = set()

    def block(
        self, statements: list[Stmt], stored: set[Var], around: frozenset[Var], *, in_loop: bool
    ) -> None:
        """Follow statements; ``stored`` may have a value here, and grows.

        ``around`` are what the loops around store into, in earlier iterations perhaps.
        """
        for statement in statements:
            match statement:
                case Declare():
                    stored.discard(statement.var)
                case If():
                    self._if(statement, stored, around, in_loop=in_loop)
                case For():
                    self._for(statement, stored, around)
                case While():
                    self._while(statement, stored, around)
                case _:
                    kept = {statement.var} if _is_partial(statement) else set()
                    self._reads(evaluated(statement), stored | kept)
                    self._whole_arrays(statement)
                    stored |= _targets(statement)

    def _if(
        self, statement: If, stored: set[Var], around: frozenset[Var], *, in_loop: bool
    ) -> None:
        self._reads(evaluated(statement), stored)
        known = stored | (around if in_loop else set())
        ends = []
        for branch in (statement.then, statement.other):
            end = set(known)
            self.block(branch, end, around, in_loop=in_loop)
            ends.append(end - known)
        stored |= ends[0] | ends[1]

    def _while(self, statement: While, stored: set[Var], around: frozenset[Var]) -> None:
        first = set(stored)
        self.block(statement.prelude, first, around, in_loop=bool(around))
        self._reads([statement.condition], first)
        inside = _stores([*statement.prelude, *statement.body])
        self.block(statement.body, first | around, frozenset(around | inside), in_loop=True)
        stored |= inside

    def _for(self, statement: For, stored: set[Var], around: frozenset[Var]) -> None:
        self._reads(evaluated(statement), stored)
        surely_runs = statement.iter.span is not None
        known = set(stored) if surely_runs else stored | around
        inside = _stores(statement.body)
        self.block(statement.body, known, frozenset(around | inside), in_loop=True)
        stored |= inside

    # --- reads -------------------------------------------------------------------------------

    def _reads(self, values: Iterable[Expr], stored: set[Var]) -> None:
        for load in loads(values):
            if load.var.shape:
                self._array(load.var, load.place)
            elif load.var.kind == "local" and load.var not in stored:
                self.found.append((load.var, load.place))

    def _whole_arrays(self, statement: Stmt) -> None:
        match statement:
            case Copy():
                self._array(statement.source, statement.place)
            case Put(value=Var() as var):
                self._array(var, statement.place)
            case Call():
                for argument in statement.args:
                    owner = argument.var if isinstance(argument, View) else argument
                    if isinstance(owner, Var):
                        self._array(owner, statement.place)

    def _array(self, var: Var, place: SourcePlace) -> None:
        if var.kind != "local" or var.symbol or var in self._written or var in self._seen:
            return
        self._seen.add(var)
        self.found.append((var, place))


def _is_partial(statement: Stmt) -> TypeGuard[Store]:
    return isinstance(statement, Store) and statement.partial


def _targets(statement: Stmt) -> set[Var]:
    match statement:
        case Store() | Fill():
            return {statement.var}
        case Copy():
            return {statement.target}
        case Get(into=Var() as var):
            return {var}
    return set()


def _stores(statements: list[Stmt]) -> set[Var]:
    """What statements store into, but for variables that are declared among them."""
    found: set[Var] = set()
    declared: set[Var] = set()
    pending = list(statements)
    while pending:
        statement = pending.pop()
        match statement:
            case Declare():
                declared.add(statement.var)
            case If():
                pending += [*statement.then, *statement.other]
            case For():
                pending += statement.body
            case While():
                pending += [*statement.prelude, *statement.body]
            case _:
                found |= _targets(statement)
    return found - declared
