"""A whole program: the instances of its functions, its constants and its state."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from allo.dialects.diagnostics import SourcePlace

from .expressions.values import Value
from .instance import Instance
from .running.runtime import Runtime, namespace


@dataclass(frozen=True)
class Language:
    """What translates each kind of syntax; the first argument of all is the `Body` being written.

    Attributes:
        expression: translates an expression.
        operate: the value of ``left symbol right``.
        call: the call of a kernel: the kernel, its template arguments, the call.
    """

    expression: Callable[[Any, ast.expr], Value]
    operate: Callable[[Any, str, Value, Value, ast.AST], Value]
    call: Callable[[Any, Any, list[ast.expr] | None, ast.Call], Value]


class Program:
    """The translation of a kernel and of all that it calls.

    Attributes:
        language: what translates each kind of syntax.
        runtime: what the translated text works with.
        inexact: a function like ``exp`` is used, of which compilers may miss the last place.
        instances: the functions translated so far.
        text: the translated text of all functions.
    """

    def __init__(
        self,
        language: Language,
        runtime: Runtime,
        frames: list[FrameType],
        given: Mapping[str, Any] | None,
    ) -> None:
        self.language = language
        self.runtime = runtime
        self.frames = frames
        self.given = given
        self.inexact = False
        self.instances: dict[Any, Instance] = {}
        self.building: list[Any] = []
        self.keys: list[Any] = []
        self.text: list[str] = []
        self.space = namespace(runtime)
        self.states: dict[str, list[Any]] = {}
        self._count = 0
        self._places: dict[SourcePlace, int] = {}

    def fresh(self) -> int:
        """A number that no name has yet."""
        self._count += 1
        return self._count

    def place_number(self, place: SourcePlace) -> int:
        """The number by which the text refers to a place."""
        number = self._places.get(place)
        if number is None:
            number = self._places[place] = len(self.runtime.places)
            self.runtime.places.append(place)
        return number

    def constant(self, values: Any) -> str:
        """The name of a list, or another object, that nothing writes to."""
        name = f"constant_{self.fresh()}"
        self.space[name] = values
        return name

    def state(self, name: str, values: list[Any]) -> str:
        """The name of a list that keeps its elements between calls."""
        holder = f"state_{name}_{self.fresh()}"
        self.states[holder] = list(values)
        self.space[holder] = list(values)
        return holder

    def reset(self) -> None:
        """Give all stateful variables their first values."""
        for holder, values in self.states.items():
            self.space[holder][:] = values

    def load(self) -> None:
        """Make the translated functions."""
        code = compile("\n".join(self.text), "<interpreted>", "exec")
        exec(code, self.space)
