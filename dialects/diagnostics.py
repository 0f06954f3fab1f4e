"""Errors that teach: a named exception, the place in the user's Python, a caret, a remedy.

Every error a user can cause is an :class:`AlloError`. Its text is::

    gemm.py:12:9: TypeMismatchError: cannot add a Struct to int32.
       12 |     x: int32 = p + 1
          |                ^^^^^
    help: read a field of the struct first, for example p["x"] + 1.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A range of a source file: lines count from 1, columns from 1, the end column is exclusive."""

    file: str
    line: int
    col: int = 1
    end_line: int | None = None
    end_col: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"

    def excerpt(self) -> str:
        """The source line with a caret under the range, or ``""`` where the file cannot be read."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text:
            return ""
        end = self.end_col if self.end_line in (None, self.line) else len(text) + 1
        width = max(1, (end or self.col + 1) - self.col)
        number = f"{self.line:5d}"
        blank = " " * len(number)
        lead = "".join("\t" if c == "\t" else " " for c in text[: self.col - 1])
        return f"{number} | {text}\n{blank} | {lead}{'^' * width}"


class AlloError(Exception):
    """The root of every error Allo raises about a user's program, schedule, data or tools.

    Args:
        message: one full sentence that says what is wrong.
        place: where in the user's Python, if known.
        help: what to do about it, as a sentence.
        notes: further lines; a pair gives the line a place of its own.
    """

    def __init__(
        self,
        message: str,
        place: SourcePlace | None = None,
        *,
        help: str | None = None,
        notes: tuple[str | tuple[str, SourcePlace], ...] = (),
    ) -> None:
        self.message = message
        self.place = place
        self.help = help
        self.notes = notes
        super().__init__(message)

    def __str__(self) -> str:
        head = f"{self.place}: " if self.place else ""
        lines = [f"{head}{self.message}"]
        if self.place and (excerpt := self.place.excerpt()):
            lines.append(excerpt)
        for note in self.notes:
            lines += _render_note(note)
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)


def _render_note(note: str | tuple[str, SourcePlace]) -> list[str]:
    if isinstance(note, str):
        return [f"note: {note}"]
    text, place = note
    excerpt = place.excerpt()
    return [f"note: {place}: {text}", *([excerpt] if excerpt else [])]


class InternalError(AlloError):
    """Allo failed in a way it did not foresee; the exception it met is the cause."""


# --- language -----------------------------------------------------------------


class FrontendError(AlloError):
    """The kernel's source cannot become core IR."""


class UnsupportedSyntaxError(FrontendError):
    """A Python construct that has no meaning in a kernel."""


class UnknownNameError(FrontendError):
    """A name that is neither local, global, captured nor built in."""


class TypeMismatchError(FrontendError):
    """Operand, argument or result types that no rule joins."""


class ShapeMismatchError(FrontendError):
    """Array shapes that do not agree."""


class DTypeError(AlloError):
    """A data type that cannot be formed or converted."""


class DTypeWarning(UserWarning):
    """A conversion at the Python boundary that may surprise."""


class AlloWarning(UserWarning):
    """Legal text whose result may surprise: see :data:`SURPRISES`."""


SURPRISES = {
    "shift": "A shift has the type of its left operand, so bits are lost that the wider result has room for.",
    "negative": "A negative amount shifts every bit out; it does not shift the other way.",
    "bitwise": "An unsigned operand beside a signed one of its width becomes signed before &, | or ^.",
    "argument": "The scalar argument is assigned and not read again: a caller's number does not change.",
    "unroll": "Copies of a loop around a while loop run one after another: they take area and save no cycle.",
    "readers": "Another process of the region may write what is read; which comes first is not defined.",
    "writers": "Another process of the region may write the same element; which is last is not defined.",
}
"""What :class:`AlloWarning` says, by the name that the option ``warnings`` of ``build`` takes."""


@dataclass(frozen=True, slots=True)
class Surprise:
    """One place that an :class:`AlloWarning` is about; ``text`` ends with what was perhaps meant."""

    rule: str
    place: SourcePlace
    text: str

    @classmethod
    def of(cls, rule: str, place: SourcePlace, meant: str) -> Surprise:
        """What a rule says of a place, and what to write instead."""
        return cls(rule, place, f"{SURPRISES[rule]}\n{place.excerpt()}\nhelp: write {meant}.")


class UninitializedWarning(UserWarning):
    """A variable or an array is read, and nothing has stored a value in it."""


class CompileTimeError(FrontendError):
    """A value that must be known at compile time is not, or its evaluation failed."""


class ModelError(FrontendError):
    """A PyTorch model, or its example inputs, that cannot become a design."""


class UnsupportedOperatorError(ModelError, NotImplementedError):
    """An operator of a PyTorch model that has no lowering, or not in this form."""


class DataflowError(FrontendError):
    """A dataflow region whose kernels and streams do not fit together."""


# --- schedule -----------------------------------------------------------------


class ScheduleError(AlloError, RuntimeError):
    """A schedule primitive cannot be applied; the module is unchanged.

    It is also a ``RuntimeError`` because published programs catch that.
    """


class UnknownHandleError(ScheduleError, AttributeError):
    """A loop, band, buffer or function handle that names nothing."""


class HandleTypeError(ScheduleError, TypeError, ValueError, AssertionError):
    """A handle or a schedule was needed, and something else was given.

    It is each of these exceptions because published programs catch one or another.
    """


class IllegalTransformError(ScheduleError):
    """The transformation would break a dependence; the message names it."""


class AutoscheduleError(ScheduleError):
    """No schedule can be searched for, or none is within the limits that were given."""


class StepError(ScheduleError):
    """A step of a verified schedule changed what a PyTorch model computes; it is undone."""


class PartitionError(ScheduleError, ValueError):
    """A partition that is invalid or conflicts with an earlier one."""


class PlacementError(ScheduleError, ValueError):
    """A place in memory that an array cannot have, or places that do not go together."""


class LayoutError(ScheduleError, ValueError):
    """An order of elements in memory that an array cannot have."""


class PrimitiveError(ScheduleError, TypeError):
    """A primitive that breaks a rule of primitives; it is refused where it is registered."""


class PartitionWarning(UserWarning):
    """A partition into more banks than there are elements."""


class EagerWarning(UserWarning):
    """A graph of ``torch.compile`` that runs in PyTorch, and not on Allo's build; it says why."""


class DataflowWarning(UserWarning):
    """Parts that a schedule asked to run at once, and that run one after the other."""


# --- building and running ---------------------------------------------------------


class BuildError(AlloError, RuntimeError):
    """A back end cannot build the module.

    It is also a ``RuntimeError`` because published programs catch that.
    """


class OptionError(BuildError, ValueError, TypeError):
    """An option of ``build``, ``customize`` or of a call that is unknown, or whose value is not accepted."""


class InvalidModeError(OptionError, AssertionError):
    """A mode that the target does not have, or a project without a mode."""


class NotProvidedError(BuildError, NotImplementedError):
    """A published helper whose work is done elsewhere here."""


class UnsupportedTargetError(BuildError, NotImplementedError):
    """No target of this name is registered."""


class TargetError(BuildError, TypeError):
    """A target that breaks a rule of targets; it is refused where it is registered."""


class DeviceError(AlloError, ValueError):
    """A record of a device family that breaks a rule; it is refused where it is registered."""


class BoardError(BuildError, ValueError):
    """A board that is not known, lacks what a design needs, or whose record breaks a rule."""


class TimingError(BuildError):
    """A routed design does not reach the clock it was asked for; its slowest path is in the notes."""


class UnsupportedOpError(BuildError):
    """A back end does not support an operation of the module."""


class CapacityError(BuildError):
    """The design takes more of a resource than the build allows."""


class InterfaceError(BuildError, ValueError):
    """An interface of the hardware that an argument cannot have, or interfaces that do not go together."""


class BoundaryError(AlloError, TypeError, RuntimeError):
    """An argument at the Python boundary has the wrong shape, type or layout.

    It is also a ``RuntimeError`` because published programs catch that.
    """


class ArgumentCountError(BoundaryError, AssertionError):
    """A call with too few or too many arguments."""


class CapacityWarning(UserWarning):
    """A design takes more of a resource than the device has; the message names its largest users."""


class ClockWarning(UserWarning):
    """An operator is slower than the clock; the message names it, its line and the fastest clock."""


class ToolMissingError(BuildError, AssertionError):
    """An external program that a step needs is not installed."""


class ToolFailedError(BuildError):
    """An external program failed or ran past its time limit; its last lines are in the notes."""


class CacheError(BuildError):
    """There is no place to write what a build compiles."""


class CacheWarning(UserWarning):
    """The cache folder cannot be written; builds go on without it."""


class SourceFileError(BuildError, FileNotFoundError):
    """A file of C++ that a kernel names is not there."""


class SimulationError(AlloError):
    """A simulation did not end as it should."""


class PredictionError(AlloError, RuntimeError):
    """Cycles of a design that cannot be foretold; the message says why."""


class DeadlockError(SimulationError):
    """Processes of a dataflow region wait for each other; every one is listed."""


class ProtocolError(SimulationError):
    """A design broke a rule of a bus: the port, the rule and the cycle."""


class PortError(AlloError):
    """A serial port that cannot be used, or whose board holds another design or never ends."""


class LineError(PortError):
    """The line to a board is lost, or damages all that passes."""


class BoundsError(SimulationError, IndexError):
    """A subscript outside its array, at run time: the index, the array, its bound and the place.

    Attributes:
        array: the name of the array.
        index: the subscript of each dimension.
        shape: the extent of each dimension.
    """

    def __init__(
        self,
        message: str,
        place: SourcePlace | None = None,
        *,
        array: str = "",
        index: tuple[int, ...] = (),
        shape: tuple[int, ...] = (),
        **more: Any,
    ) -> None:
        super().__init__(message, place, **more)
        self.array, self.index, self.shape = array, index, shape


class DependenceError(SimulationError):
    """A dependence that the user asserted does not hold, at run time: the iterations and the place.

    Attributes:
        array: the name of the array.
        loop: the name of the loop.
        iterations: the loop's iterator at the earlier access and at the later one.
        index: the element that both touch.
    """

    def __init__(
        self,
        message: str,
        place: SourcePlace | None = None,
        *,
        array: str = "",
        loop: str = "",
        iterations: tuple[int, int] = (0, 0),
        index: tuple[int, ...] = (),
        **more: Any,
    ) -> None:
        super().__init__(message, place, **more)
        self.array, self.loop = array, loop
        self.iterations, self.index = iterations, index


class UndefinedReadError(AlloError):
    """A variable or element is read before anything was written to it."""


class StepsExceededError(AlloError):
    """An interpreted program takes more steps than it was allowed: perhaps a loop has no end."""


# --- comparing programs -----------------------------------------------------------


class EquivalenceError(AlloError):
    """Two programs cannot be compared: neither equal nor different has been shown."""


class UndecidableError(EquivalenceError):
    """What a program does next depends on its data in a way symbols cannot follow."""


class StepLimitError(EquivalenceError):
    """A program takes more steps than the checker was allowed."""


class SignatureMismatchError(EquivalenceError, ValueError):
    """The two programs do not take and return the same things."""


class VerificationError(AlloError):
    """The core IR breaks a rule of its stage: a fault of Allo, not of the user."""
