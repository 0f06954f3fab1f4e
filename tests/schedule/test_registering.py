"""register_primitive: which primitives are refused, and what those of a stranger may do."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pytest

import allo
from allo.dialects._mlir import ir
from allo.errors import PrimitiveError, VerificationError
from allo.ir.types import int32
from allo.schedule import (
    Axis,
    BandName,
    Buffer,
    Consumer,
    FunctionName,
    LoopWrapper,
    Schedule,
    ScheduleState,
    Setting,
    register_primitive,
)
from allo.schedule.parameters import check_parameters, moved
from allo.schedule.resolve import find_loop
from tests.schedule.support import count, refused

if TYPE_CHECKING:
    from fractions import Fraction


class Style(enum.Enum):
    FAST = 0


def inner(A: int32[8, 8]):
    for i, j in allo.grid(8, 8):
        A[i, j] = A[i, j] + 1


def outer(A: int32[8, 8]):
    for i, j in allo.grid(8, 8):
        A[i, j] = A[i, j] * 2
    inner(A)


@pytest.fixture(autouse=True)
def no_primitive_stays() -> Iterator[None]:
    before = set(vars(Schedule))
    yield
    for name in set(vars(Schedule)) - before:
        delattr(Schedule, name)


def colour(s: ScheduleState, where: Axis, *, by: Setting[str] = "red") -> None:
    """Give a loop an attribute."""
    loop = find_loop(s.module, s.top_func_name, where, "colour")
    loop.op.attributes["colour"] = ir.StringAttr.get(by)


def test_a_strangers_primitive_is_a_method_of_every_schedule():
    s = allo.customize(inner)
    register_primitive(colour)
    s.colour("j", by="blue")
    assert count(s, 'colour = "blue"') == 1
    assert s.primitive_sequences == [("colour", ["j"], {"by": "blue"})]


def test_compose_replays_a_strangers_primitive_on_the_callee():
    """Its parameter is called `where`: the annotation says that it names a loop."""
    register_primitive(colour)
    s_inner, s = allo.customize(inner), allo.customize(outer)
    s_inner.colour("j")
    s.compose(s_inner)
    assert "colour" in s.get_loops("inner").S_i_j_0.j.loop.attributes
    assert "colour" not in s.get_loops("outer").S_i_j_0.j.loop.attributes


def test_the_same_function_may_be_registered_again():
    register_primitive(colour)
    assert register_primitive(colour) is vars(Schedule)["colour"]


def test_a_primitive_that_leaves_a_broken_module_is_undone():
    @register_primitive
    def unname(s: ScheduleState, axis: Axis) -> None:
        """Take a loop's name away."""
        del find_loop(s.module, s.top_func_name, axis, "unname").op.attributes["loop_name"]

    s = allo.customize(inner)
    refused(
        s,
        VerificationError,
        r"In inner: affine.for has no attribute 'loop_name'\..*"
        r"note: the primitive unname left this module\.",
        lambda: s.unname("j"),
    )


def no_schedule(axis: Axis) -> None:
    """Take no schedule."""


def rest(s: ScheduleState, **options: int) -> None:
    """Take any option."""


def bare(s: ScheduleState, axis) -> None:
    """Take something."""


def text(s: ScheduleState, where: str) -> None:
    """Take a string of no kind."""


def anything(s: ScheduleState, values: Sequence[Any]) -> None:
    """Take anything."""


def ambiguous(s: ScheduleState, target: Axis | FunctionName) -> None:
    """Take a loop or a function."""


def hidden(s: ScheduleState, share: Fraction) -> None:
    """Take a type that is only there for checkers."""


@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (no_schedule, r"its first parameter is the schedule, s: ScheduleState\."),
        (rest, r"it names each parameter, and takes no \*\*options\."),
        (bare, r"each parameter has an annotation, and axis has none\.\n.*help: Axis, Buffer, "),
        (text, r"each parameter is of a known kind, and where: str is not\.\n.*help: Axis, Buffer"),
        (anything, r"each parameter is of a known kind, and values: Any is not\."),
        (ambiguous, r"a string means one thing, and in target it may be Axis or FunctionName\."),
        (hidden, r"its annotations can be read .*, but name 'Fraction' is not defined\.\n.*import"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_parameters_of_no_known_kind_are_refused(function, rule):
    with pytest.raises(PrimitiveError) as caught:
        register_primitive(function)
    message = str(caught.value)
    assert f"The primitive {function.__name__} is refused: " in message
    assert f"{__file__}:{function.__code__.co_firstlineno}:1: " in message
    pytest.raises(PrimitiveError, register_primitive, function).match(rf"(?s){rule}")
    assert not hasattr(Schedule, function.__name__)


def test_known_kinds_are_accepted():
    def fits(
        s: Schedule,
        a: Axis,
        b: Buffer | None,
        c: BandName,
        d: FunctionName | LoopWrapper,
        e: Consumer | Sequence[int],
        f: Literal["x", "y"],
        g: Style,
        h: float | bool,
        i: Setting[dict[str, int]],
        *rest: Axis,
    ) -> None: ...

    check_parameters(fits)
    call = moved(
        fits,
        allo.customize(inner),
        ("i", "A", "f:band", "f", "f", "x", Style.FAST, 0.5, {"f": 1}, "g:j", "k"),
        {},
        "f",
        {"f": "F", "g": "G"}.__getitem__,
    )
    assert call.args[1:] == (
        *("F:i", "F:A", "F:band", "F", "F", "x", Style.FAST, 0.5, {"f": 1}, "G:j", "F:k"),
    )


@pytest.mark.parametrize("name", ["pipeline", "build", "module", "get_loops"])
def test_taken_names_are_refused(name):
    def mine(s: ScheduleState) -> None:
        """Do nothing."""

    mine.__name__ = name
    with pytest.raises(PrimitiveError, match=rf"a schedule has an attribute {name} already\."):
        register_primitive(mine)


def test_names_that_are_not_public_are_refused():
    def _mine(s: ScheduleState) -> None:
        """Do nothing."""

    with pytest.raises(PrimitiveError, match=r"its name is that of a method, and _mine is not\."):
        register_primitive(_mine)


def test_a_primitive_says_what_it_does():
    def mute(s: ScheduleState) -> None:
        pass

    with pytest.raises(PrimitiveError, match="it has a docstring, which says what it does"):
        register_primitive(mute)
