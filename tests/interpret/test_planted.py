"""Rules of the interpreter made wrong, one at a time: the tests beside this one must see each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from allo.interpret import rules
from allo.interpret.expressions import scalars
from allo.interpret.running import arrays, casts, formats, integers
from allo.ir.types import float32

from . import test_formats, test_programs, test_regions, test_scalars, test_tables, test_tensors

Fault = tuple[Any, str, Any, Callable[..., Any], tuple[Any, ...]]


def _wrap_unsigned(code: str, dtype: Any) -> str:
    return f"({code} & {(1 << casts.width(dtype)) - 1})"


FAULTS: dict[str, Fault] = {
    "sums grow by two bits": (
        rules,
        "_common",
        lambda a, b, growth, own=rules._common: own(a, b, 2 * growth),
        test_tables.test_table,
        ("Add, subtract",),
    ),
    "an index is 64 bits in the tables": (
        rules,
        "_quotient",
        lambda a, b: rules.int_type(64, True),
        test_tables.test_table,
        ("Divide, floor-divide",),
    ),
    "powers of wide integers are float32": (
        rules,
        "_power",
        lambda a, b: float32,
        test_tables.test_table,
        ("Power",),
    ),
    "signed values wrap as unsigned": (
        casts,
        "wrap_code",
        _wrap_unsigned,
        test_scalars.test_casts_of_integers,
        (),
    ),
    "floats become integers by rounding down": (
        casts,
        "float_to_int",
        lambda v, low, high: (
            0 if v != v else min(max(math.floor(max(min(v, 1e9), -1e9)), low), high)
        ),
        test_scalars.test_float_to_integer,
        (),
    ),
    "the remainder has the sign of the divisor": (
        integers,
        "remainder",
        lambda a, b: a % b if b else a,
        test_scalars.test_what_always_fits,
        ("x % y",),
    ),
    "the remainder of zero is zero": (
        integers,
        "remainder",
        lambda a, b: int(math.fmod(a, b)) if b else 0,
        test_scalars.test_what_always_fits,
        ("x % y",),
    ),
    "a floor division truncates": (
        integers,
        "flooring",
        integers.truncating,
        test_scalars.test_division,
        ("//", test_scalars.down),
    ),
    "a shift takes its amount modulo the width": (
        integers,
        "shift_left",
        lambda a, n, bits: a << n % bits,
        test_scalars.test_shifts,
        (rules.int_type(4, True),),
    ),
    "a right shift is logical": (
        integers,
        "shift_right",
        lambda a, n, bits: (a & ((1 << bits) - 1)) >> n if 0 <= n < bits else 0,
        test_scalars.test_shifts,
        (rules.int_type(4, True),),
    ),
    "bits are reversed in one word less": (
        integers,
        "reverse",
        lambda a, bits, own=integers.reverse: own(a, bits - 1),
        test_scalars.test_select_and_reverse_bits,
        (),
    ),
    "fixed point is divided downward": (
        integers,
        "fixed_quotient",
        lambda a, b, up, down: (a << up) // (b << down) if b else -1,
        test_scalars.test_fixed_point_division,
        (),
    ),
    "literals are float32 first": (
        scalars,
        "raw_of",
        lambda v, to: casts.convert(scalars.exact_to_raw(v.exact, v.dtype), v.dtype, to),
        test_scalars.test_literals_take_the_type_of_what_they_meet,
        (),
    ),
    "halves are rounded up": (
        formats,
        "ROUND",
        {**formats.ROUND, "f16": lambda x: math.floor(x * 1024 + 0.5) / 1024},
        test_formats.test_operations_round_once,
        ("f16",),
    ),
    "views forget their offset": (
        arrays.Array,
        "positions",
        lambda self, shape=None: list(range(arrays.size_of(shape or self.shape))),
        test_programs.test_slices_views_and_broadcasting,
        (),
    ),
    "transposing does nothing": (
        arrays,
        "row_major",
        lambda shape: tuple(1 for _ in shape),
        test_tensors.test_shapes,
        (),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.filterwarnings("ignore")
def test_a_wrong_rule_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, attribute, fault, test, arguments = FAULTS[name]
    test(*arguments)
    monkeypatch.setattr(module, attribute, fault)
    if module is casts:
        monkeypatch.setattr(scalars, attribute, fault, raising=False)
    if attribute == "ROUND":
        monkeypatch.setattr(test_formats, attribute, fault)
    with pytest.raises((AssertionError, ValueError, IndexError)):
        test(*arguments)


def test_a_fifo_that_is_too_deep_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from allo.interpret.running import fifo

    def deeper(self: Any, name: str, depth: int) -> None:
        own(self, name, depth + 1)

    own = fifo.Fifo.__init__
    monkeypatch.setattr(fifo.Fifo, "__init__", deeper)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_regions.test_depth_is_honoured_and_leftovers_are_dropped()
