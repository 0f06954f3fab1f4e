"""``get_equivalent_variables``: the names of one variable across calls and returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from allo.dialects.core.alias import VariableClasses
from allo.dialects.core.signature import argument_name, entry_of, functions_of
from allo.dialects.diagnostics import HandleTypeError, UnknownHandleError
from allo.dialects.text.shown import shown
from allo.schedule.handles import Buffer, MockBuffer
from allo.schedule.near import suggestion
from allo.schedule.resolve import buffers_of, find_function, split_name
from allo.schedule.state import ScheduleState


class Names(set[str]):
    """A set of ``"func:name"``, in which ``"func:position"`` is that argument, too.

    Args:
        names: the names.
        positions: for each ``"func:position"`` the name of the argument.
    """

    def __init__(self, names: Iterable[str], positions: Mapping[str, str]) -> None:
        super().__init__(names)
        self._positions = positions

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self._positions.get(str(name), name))

    def __eq__(self, other: object) -> bool:
        return set(self) == self._named(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __le__(self, other: AbstractSet[object]) -> bool:
        return set(self) <= self._named(other)

    def __ge__(self, other: AbstractSet[object]) -> bool:
        return set(self) >= self._named(other)

    __hash__ = None

    def _named(self, other: object) -> set[object]:
        if not isinstance(other, AbstractSet):
            return {other}
        return {self._positions.get(str(name), name) for name in other}


def get_equivalent_variables(s: ScheduleState, name: Buffer) -> Names:
    """Every ``"func:name"`` that is the same array, or the same scalar, as ``name``.

    ::

        def top(A, n):                 s.get_equivalent_variables("top:A") == {"top:A", "inner:X"}
            inner(A, n)                s.get_equivalent_variables("inner:1") == {"top:n", "inner:m"}

    A scalar is passed by value. It is the same variable as the parameter it is passed for, and as a
    scalar that is assigned once, from it. The answer holds names, and knows arguments by their positions
    as well: ``"inner:0" in s.get_equivalent_variables("top:A")``.

    Args:
        name: ``"func:buffer"`` or ``"func:argument number"``; the top function where none is named. Or
            the handle of a buffer.

    Raises:
        HandleTypeError: neither of these.
        UnknownHandleError: no such function or buffer.
    """
    if isinstance(name, MockBuffer):
        name = f"{name.func}:{name.name}"
    if not isinstance(name, str):
        raise HandleTypeError(
            f"get_equivalent_variables takes the name of a variable, not {shown(name)}.",
            help='write "func:A", "func:0" for the first argument, or take s.A.',
        )
    func, wanted = split_name(name, s.top_func_name)
    function = find_function(s.module, func)
    buffers = buffers_of(function)
    if wanted.isdigit():
        arguments = list(function.regions[0].blocks[0].arguments)
        value = arguments[int(wanted)] if int(wanted) < len(arguments) else None
    else:
        value = buffers.get(wanted)
    if value is None:
        raise UnknownHandleError(
            f"Target {wanted} not found in function {func}.",
            help=suggestion(wanted, buffers, f"{func} has the buffers"),
        )
    members = VariableClasses(s.module.operation).members(value)
    functions = functions_of(s.module)
    names = (
        f"{owner}:{label}"
        for owner, body in functions.items()
        for label, buffer in buffers_of(body).items()
        if buffer in members
    )
    positions = {
        f"{owner}:{position}": f"{owner}:{argument_name(argument)}"
        for owner, body in functions.items()
        for position, argument in enumerate(entry_of(body).arguments)
    }
    return Names(names, positions)
