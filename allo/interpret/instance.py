"""What a translated function takes and returns."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from allo.dialects.diagnostics import SourcePlace

from .known import Declared


@dataclass
class Parameter:
    """A parameter of a function.

    Attributes:
        name: the user's name.
        said: its declaration.
        place: where it is declared.
        default: the expression of its default value.
        value: the default value where it is a number.
        symbol: the variable it is in the body.
    """

    name: str
    said: Declared
    place: SourcePlace
    default: ast.expr | None = None
    value: int | float | None = None
    symbol: Any = None


@dataclass
class Instance:
    """One function of the translated text.

    Attributes:
        name: the user's name of the function.
        python: its name in the text.
        parameters: what it takes.
        results: what it returns.
        place: where it is defined.
        is_generator: it waits for streams.
        is_endless: it never returns.
    """

    name: str
    python: str
    parameters: list[Parameter]
    results: list[Declared]
    place: SourcePlace
    is_generator: bool = False
    is_endless: bool = False
