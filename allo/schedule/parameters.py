"""What the parameters of a primitive take, read from their annotations.

``compose`` replays recorded calls on another function, so it must know which arguments name loops,
arrays, bands or functions. A primitive whose annotations do not say so is refused at once.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, TypeAliasType, Union, get_args, get_origin, get_type_hints

from allo.dialects.diagnostics import PrimitiveError, SourcePlace

from .handles import (
    Axis,
    BandName,
    Buffer,
    Consumer,
    FunctionName,
    LoopWrapper,
    MockBuffer,
    Setting,
)
from .state import ScheduleState

Rename = Callable[[str], str]
"""A function's name in the recorded schedule to its name where the call is replayed."""

_WITHIN = (Axis, Buffer, BandName)
"""Names of something in a function: ``"i"`` of the top function, or ``"func:i"``."""
_WHOLE = (FunctionName, Consumer)
"""Names of functions."""
_PLAIN = (int, float, bool, NoneType, LoopWrapper, MockBuffer)
_KINDS = (
    "Axis, Buffer, BandName, FunctionName and Consumer take names; int, float, bool, an Enum, "
    "Literal[…] and Setting[…] take what names nothing; Sequence[…] and … | … combine them."
)


def check_parameters(function: Callable[..., Any]) -> None:
    """Refuse a primitive whose parameters ``compose`` would not understand.

    Raises:
        PrimitiveError: naming the parameter and the rule.
    """
    parameters = list(inspect.signature(function).parameters.values())
    hints = _hints(function)
    first = parameters[0] if parameters else None
    if first is None or not _takes_state(hints.get(first.name)):
        raise refusal(function, "its first parameter is the schedule, s: ScheduleState.")
    for parameter in parameters[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            raise refusal(function, f"it names each parameter, and takes no **{parameter.name}.")
        if parameter.name not in hints:
            raise refusal(
                function,
                f"each parameter has an annotation, and {parameter.name} has none.",
                _KINDS,
            )
        _check_kind(function, parameter.name, hints[parameter.name])


def moved(
    function: Callable[..., Any],
    s: ScheduleState,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    top: str,
    rename: Rename,
) -> inspect.BoundArguments:
    """A recorded call as a call on ``s``, with the functions that its handles name renamed.

    Args:
        function: the primitive.
        args, kwargs: the recorded arguments.
        top: the function that names without one mean in the recorded schedule.
    """
    bound = inspect.signature(function).bind(s, *args, **kwargs)
    bound.apply_defaults()
    hints = _hints(function)
    for name in list(bound.arguments)[1:]:
        bound.arguments[name] = _moved(bound.arguments[name], hints[name], top, rename)
    return bound


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except NameError as error:
        raise refusal(
            function,
            f"its annotations can be read when it is registered, but {error}.",
            "import what they name outside `if TYPE_CHECKING`.",
        ) from None


def _takes_state(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, ScheduleState)


def _check_kind(function: Callable[..., Any], name: str, hint: Any) -> None:
    for member in _members(hint):
        if not _is_known(member):
            raise refusal(
                function,
                f"each parameter is of a known kind, and {name}: {_spelled(member)} is not.",
                _KINDS,
            )
    named = [_spelled(m) for m in _members(hint) if m in (*_WITHIN, *_WHOLE)]
    if len(set(named)) > 1:
        raise refusal(
            function,
            f"a string means one thing, and in {name} it may be {' or '.join(named)}.",
            "make them two parameters.",
        )


def _members(hint: Any) -> Iterator[Any]:
    """What a hint may be, with unions and sequences taken apart."""
    if get_origin(hint) in (Union, UnionType, list, tuple, Sequence):
        for inner in get_args(hint):
            if inner is not Ellipsis:
                yield from _members(inner)
    else:
        yield hint


def _is_known(member: Any) -> bool:
    if isinstance(member, TypeAliasType):
        return member in (*_WITHIN, *_WHOLE)
    if isinstance(member, type) and issubclass(member, enum.Enum):
        return True
    return member in _PLAIN or get_origin(member) in (Literal, Setting)


def _spelled(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, (type, TypeAliasType)) else str(hint)


def _moved(value: Any, hint: Any, top: str, rename: Rename) -> Any:
    if isinstance(value, LoopWrapper):
        return LoopWrapper(rename(value.func), value.band, value.loop_name)
    if isinstance(value, MockBuffer):
        return MockBuffer(rename(value.func), value.name, value.idx)
    kinds = [m for m in _members(hint) if m in (*_WITHIN, *_WHOLE)]
    if value is None and FunctionName in kinds:
        return rename(top)
    if not kinds:
        return value
    if isinstance(value, (list, tuple)):
        return [_moved(item, hint, top, rename) for item in value]
    if not isinstance(value, str):
        return value
    if kinds[0] in _WHOLE:
        return rename(value)
    func, colon, rest = value.partition(":")
    return f"{rename(func)}:{rest}" if colon else f"{rename(top)}:{value}"


def refusal(function: Callable[..., Any], rule: str, help: str | None = None) -> PrimitiveError:
    """The error for a primitive that breaks a rule; ``rule`` says what primitives do."""
    code = inspect.unwrap(function).__code__
    return PrimitiveError(
        f"The primitive {function.__name__} is refused: {rule}",
        SourcePlace(code.co_filename, code.co_firstlineno),
        help=help,
    )
