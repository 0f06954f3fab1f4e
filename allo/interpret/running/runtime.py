"""What the translated text calls while it runs: checks, loops, and the names it may use."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from allo.dialects.diagnostics import (
    AlloError,
    BoundsError,
    SimulationError,
    SourcePlace,
    StepsExceededError,
    UndefinedReadError,
)
from allo.dialects.types import AlloType, parse_type

from . import arrays, bits, casts, elementary, external, fifo, formats, integers, reread, tensor_ops
from .formats import INF, NAN

type_of: Callable[[str], AlloType] = functools.cache(parse_type)


class Runtime:
    """One interpreted program at work.

    Attributes:
        places: the places that the translated text refers to by number.
        max_steps: loop iterations and calls allowed in one call of the program.
        steps: those of the present call.
    """

    def __init__(self, max_steps: int | None) -> None:
        self.places: list[SourcePlace] = []
        self.max_steps = max_steps
        self.steps = 0

    # --- errors -----------------------------------------------------------------------------

    def undefined(self, place: int, name: str) -> NoReturn:
        """An undefined variable or element is read."""
        raise UndefinedReadError(
            f"{name} is read before anything is written to it.",
            self.places[place],
            help="give it a value where it is declared.",
        )

    def outside(self, place: int, value: int, extent: int, name: str) -> NoReturn:
        """A subscript is out of range."""
        raise BoundsError(
            f"The subscript {value} of {name} is out of range: its bound is {extent}.",
            self.places[place],
            help=f"keep it between 0 and {extent - 1}.",
        )

    def failed(self, place: int, text: str) -> NoReturn:
        """An assertion of the kernel does not hold."""
        raise SimulationError(f"The assertion failed: {text}.", self.places[place])

    def no_result(self, place: int, name: str) -> NoReturn:
        """A function ends without the result it declares."""
        raise UndefinedReadError(
            f"{name} ends without returning its result.",
            self.places[place],
            help="return a value on every path.",
        )

    # --- loops ------------------------------------------------------------------------------

    def count(self, place: int, steps: int = 1) -> bool:
        """Count steps; True, so that it can stand in a condition."""
        self.steps += steps
        if self.max_steps is not None and self.steps > self.max_steps:
            raise StepsExceededError(
                f"The program takes more than {self.max_steps} steps.",
                self.places[place],
                help="a loop may have no end; max_steps= allows more.",
            )
        return True

    def loop(self, place: int, low: int, high: int, step: int = 1) -> range:
        """The iterations of a loop over a range."""
        if not step:
            raise SimulationError("The step of the loop is 0.", self.places[place])
        found = range(low, high, step)
        self.count(place, len(found))
        return found

    def positive_step(self, place: int, step: int) -> int:
        """A step that is known only now: it must be positive."""
        if step <= 0:
            raise SimulationError(
                f"The step of the loop is {step}, and a step that is not constant must be positive.",
                self.places[place],
            )
        return step

    def nest(self, place: int, *extents: int) -> Iterator[tuple[int, ...]]:
        """The iterations of ``grid`` over several extents."""
        steps = 1
        for extent in extents:
            steps *= max(extent, 0)
        self.count(place, steps)
        return itertools.product(*map(range, extents))

    # --- arrays -----------------------------------------------------------------------------

    def at(self, place: int, value: int, extent: int, name: str) -> int:
        """A subscript, checked."""
        if not 0 <= value < extent:
            self.outside(place, value, extent, name)
        return value

    def bits_start(self, place: int, low: int, high: int, bits: int) -> int:
        """The lowest of some bits, all of which the value has."""
        if not 0 <= low <= bits:
            self.outside(place, low, bits, "the bits")
        if high > bits:
            self.outside(place, high - 1, bits, "the bits")
        return low

    def span(self, place: int, start: int, last: int, extent: int, name: str) -> int:
        """The start of a slice of which both ends lie in the array."""
        if not 0 <= start < extent:
            self.outside(place, start, extent, name)
        if not 0 <= last < extent:
            self.outside(place, last, extent, name)
        return start

    def elementwise(
        self, place: int, shape: tuple[int, ...], function: Callable[..., Any], *operands: Any
    ) -> arrays.Array:
        """A new array of a function of the operands' elements."""
        parts = [arrays.elements_of(operand, shape) for operand in operands]
        for part in parts:
            if None in part:
                self.undefined(place, "An element of an array")
        return arrays.Array([function(*row) for row in zip(*parts, strict=True)], shape)

    def defined(self, place: int, array: arrays.Array) -> list[Any]:
        """The elements, row by row, all of them written."""
        elements = array.elements()
        if None in elements:
            self.undefined(place, "An element of an array")
        return elements

    def checked(self, place: int, array: arrays.Array) -> arrays.Array:
        """The array, all of its elements written."""
        self.defined(place, array)
        return array


def write_text(form: str | None, *values: Any) -> None:
    """The kernel's ``print``."""
    plain = [nested(v) if isinstance(v, arrays.Array) else v for v in values]
    text = form.format(*plain) if form is not None else " ".join(str(v) for v in plain)
    sys.stdout.write(f"{text}\n")


def nested(array: arrays.Array) -> Any:
    """The elements as nested lists."""
    elements = iter(array.elements())

    def level(shape: tuple[int, ...]) -> Any:
        if not shape:
            return next(elements)
        return [level(shape[1:]) for _ in range(shape[0])]

    return level(array.shape)


def namespace(runtime: Runtime) -> dict[str, Any]:
    """The global names of the translated text."""
    names: dict[str, Any] = {
        "INF": INF,
        "NAN": NAN,
        "Array": arrays.Array,
        "AlloError": AlloError,
        "assign": arrays.assign,
        "block": arrays.block,
        "Inside": arrays.Inside,
        "copied": arrays.copied,
        "reread": reread.reread,
        "elementwise": runtime.elementwise,
        "defined": runtime.defined,
        "checked": runtime.checked,
        "undefined": runtime.undefined,
        "outside": runtime.outside,
        "failed": runtime.failed,
        "no_result": runtime.no_result,
        "count": runtime.count,
        "loop": runtime.loop,
        "nest": runtime.nest,
        "positive_step": runtime.positive_step,
        "at": runtime.at,
        "span": runtime.span,
        "bits_start": runtime.bits_start,
        "Fifo": fifo.Fifo,
        "stacked": fifo.stacked,
        "TURN": fifo.TURN,
        "run_processes": functools.partial(fifo.run_processes, runtime.places),
        "call_external": external.call_external,
        "write_text": write_text,
        "type_of": type_of,
        "unpack_struct": casts.unpack_struct,
        "reread_struct": casts.reread_struct,
        "float_to_int": casts.float_to_int,
        "float_to_fixed": casts.float_to_fixed,
        "rounded_fixed": casts.rounded_fixed,
        "fixed_to_float": casts.fixed_to_float,
        "truncating": integers.truncating,
        "flooring": integers.flooring,
        "int_remainder": integers.remainder,
        "shift_left": integers.shift_left,
        "shift_right": integers.shift_right,
        "fixed_quotient": integers.fixed_quotient,
        "fixed_floor": integers.fixed_floor,
        "reverse_bits": integers.reverse,
        "float_divide": formats.divide,
        "float_floor": formats.floor,
        "float_remainder": formats.remainder,
        "float_min": formats.smallest,
        "float_max": formats.largest,
        "square_root": formats.square_root,
        "to_bits": bits.to_bits,
        "from_bits": casts.from_bits,
        "get_bits": bits.get_bits,
        "set_bits": bits.set_bits,
    }
    names.update({f"round_{name}": rounded for name, rounded in formats.ROUND.items()})
    names.update(elementary.functions())
    names.update(tensor_ops.functions())
    return names
