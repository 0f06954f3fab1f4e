"""A whole program: the instances of its functions, its constants and its state."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from allo.dialects.diagnostics import SourcePlace, UnsupportedSyntaxError

from . import instances
from .body import Body
from .constants import converted
from .expressions import scalar_expressions as expressions
from .expressions.values import Value
from .instance import Instance
from .known import element_type
from .names import Names
from .running.runtime import Runtime, namespace
from .source import read_function


class Program:
    """The translation of a kernel and of all that it calls.

    Attributes:
        runtime: what the translated text works with.
        inexact: a function like ``exp`` is used, of which compilers may miss the last place.
        instances: the functions translated so far.
        text: the translated text of all functions.
    """

    def __init__(
        self,
        runtime: Runtime,
        frames: list[FrameType],
        given: Mapping[str, Any] | None,
    ) -> None:
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

    def constant_array(self, body: Body, value: np.ndarray, node: ast.expr) -> Value:
        """A captured array as a value."""
        dtype = element_type(value)
        if dtype is None:
            raise UnsupportedSyntaxError(
                f"An array of NumPy's {value.dtype} cannot be captured.", body.place(node)
            )
        name = self.constant(converted(body, value, dtype, value.shape, node))
        return Value(dtype, f"Array({name}, {value.shape})", shape=value.shape)

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

    def expression(self, body: Body, node: ast.expr) -> Value:
        return expressions.expression(body, node)

    def operate(self, body: Body, symbol: str, left: Value, right: Value, node: ast.AST) -> Value:
        return expressions.operate(body, symbol, left, right, node)

    def top(self, function: Callable[..., Any] | str, template: Sequence[Any] | None) -> Instance:
        """The instance of the kernel itself."""
        node, text = read_function(function)
        plain = None if isinstance(function, str) else function
        names = Names(plain, self.frames, self.given)
        return instances.build(self, function, node, text, names, list(template or ()), None)

    def call(
        self, body: Body, function: Any, template: list[ast.expr] | None, node: ast.Call
    ) -> Value:
        """A call of another kernel."""
        return instances.call(self, body, function, template, node)

    def load(self) -> None:
        """Make the translated functions."""
        code = compile("\n".join(self.text), "<interpreted>", "exec")
        exec(code, self.space)
