"""Mistakes that were refused without advice, or answered in silence: sentence, caret, and what to do."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.hls import is_available
from allo.cli.build import find_schedule
from allo.errors import AlloError, AlloWarning, DTypeError, OptionError
from allo.ir.types import Fixed, Int, Stateful, Struct, UInt, int8, int16, int32

PACKET = Struct({"n": int32, "d": int16[4]})


async def waiting(A: int32[4]):
    A[0] = 1


def starred(*A: int32[4]):
    A[0] = 1


def by_name(A: int32[4], *, n: int32):
    A[0] = n


def no_step(A: int32[4]):
    for i in range(0, 4, 0):
        A[i] = 1


def long_step(A: int32[4]):
    for i in range(0, 4, 1 << 70):
        A[i] = 1


def short_field(A: int32[4]):
    p: PACKET = {"n": 1, "d": [1, 2, 3]}
    A[0] = p["d"][0]


def short_state(A: int32[4]):
    t: int32[3] @ Stateful = [1, 2]
    A[0] = t[0]


REFUSED: dict[Any, tuple[str, str, str]] = {
    waiting: (
        "'waiting' is an async function, which is no kernel.",
        "async def",
        "write it with def alone; processes that run at once are the kernels of a df.region.",
    ),
    starred: (
        "Argument 'A': a kernel takes plain arguments only.",
        "def starred(*A",
        "name each argument and its type, as A: int32[8], without * in front.",
    ),
    by_name: (
        "Argument 'n': a kernel takes plain arguments only.",
        "def by_name(",
        "name each argument and its type, as n: int32[8], without * in front.",
    ),
    no_step: (
        "Step in for loop range should not be zero, got: 0.",
        "range(0, 4, 0)",
        "a step of 1 is the default; a negative one counts down.",
    ),
    long_step: (
        "The step of this loop does not fit index (64 bits).",
        "range(0, 4, 1 << 70)",
        "the loop has one iteration at most: write an if, or its body, without the loop.",
    ),
    short_field: (
        "An array of shape [3] is no field of shape [4].",
        '"d": [1, 2, 3]',
        "give as many elements as the field has, or one value for all of them.",
    ),
    short_state: (
        "The initialiser of t has shape [2], but t is declared with shape [3].",
        "@ Stateful = [1, 2]",
        "give as many values as are declared, or one number for all of them.",
    ),
}


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda k: k.__name__)
def test_what_is_refused_says_what_to_write(kernel: Any):
    sentence, line, advice = REFUSED[kernel]
    with pytest.raises(AlloError) as caught:
        allo.customize(kernel)
    assert (caught.value.message, caught.value.help) == (sentence, advice)
    shown = str(caught.value).splitlines()
    assert line in shown[1] and shown[2].strip(" |").strip("^") == ""


@pytest.mark.parametrize("make", [lambda: UInt(0), lambda: Int(-3), lambda: Int(8.5)])
def test_widths(make):
    with pytest.raises(DTypeError, match="The width of a type must be") as caught:
        make()
    assert caught.value.help == "Int(8) and UInt(8) have eight bits."


def as_fixed(x: Fixed(8, 2)) -> int8:
    return int8(x)


def doubled(A: int32[4]) -> int32:
    return A[0] + A[3]


@pytest.mark.parametrize(
    "target", [{}, {"target": "vhls"}, {"target": "verilog", "simulator": "jit"}]
)
@pytest.mark.parametrize(
    ("kernel", "given", "advice"),
    [
        (as_fixed, float("nan"), "replace what is not finite before the call"),
        (doubled, np.zeros((2, 2), np.int32), "an array is passed whole: reshape it"),
    ],
)
def test_arguments(kernel, given, advice, target):
    with pytest.raises(AlloError) as caught:
        allo.customize(kernel).build(**target)(given)
    assert advice in caught.value.help and "^" in str(caught.value)


def filled[T, N](A: T[N]):
    A[0] = 1


def test_texts_are_ids_and_no_values_of_a_template():
    with pytest.raises(AlloError, match="filled has 2 template parameters") as caught:
        allo.customize(filled, instantiate=["int32", "x"])
    assert caught.value.help == (
        "give one value each: instantiate=[int32, 4] or f[int32, 4](…); a text is an id."
    )


@pytest.mark.parametrize("target", [{}, {"target": "verilog", "simulator": "jit"}])
def test_an_array_that_cannot_be_written(target):
    given = np.zeros(4, np.int32)
    given.flags.writeable = False
    with pytest.raises(AlloError, match="writes this array, but it is read-only") as caught:
        allo.customize(backwards).build(**target, configs={"warnings": False})(given)
    assert caught.value.help == "pass a copy: array.copy() can be written."


@pytest.mark.parametrize(("given", "name"), [((3,), "backend"), (("vitis_hls", 7), "mode")])
def test_a_guard_of_what_is_no_name(given, name):
    with pytest.raises(OptionError, match=f"takes the name of a {name}, not {given[-1]}"):
        is_available(*given)


def test_a_program_of_the_command_line_that_is_not_python(tmp_path: Path):
    path = tmp_path / "program.py"
    path.write_text("def f(:\n")
    with pytest.raises(AlloError, match=r"program\.py is not Python: ") as caught:
        find_schedule(f"{path}:f")
    assert "def f(:" in str(caught.value) and "^" in str(caught.value)


def backwards(A: int32[4]):
    A[0] = A[1] << -1
    A[2] = A[3] >> -2


def forwards(A: int32[4], n: int8):
    A[0] = (A[1] << 1) >> n


def _warned(kernel: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        allo.customize(kernel).build(target="vhls")
    return [str(w.message) for w in caught if w.category is AlloWarning]


def test_a_shift_by_a_negative_number_is_warned_of():
    first, second = _warned(backwards)
    assert "A negative amount shifts every bit out; it does not shift the other way." in first
    assert "A[0] = A[1] << -1" in first and "help: write x >> 1." in first
    assert "A[2] = A[3] >> -2" in second and "help: write x << 2." in second
    assert _warned(forwards) == []


@pytest.mark.parametrize(
    "target", [{}, {"target": "vhls"}, {"target": "verilog", "simulator": "jit"}]
)
def test_and_shifts_every_bit_out(target):
    a = np.array([9, 5, 9, -5], np.int32)
    allo.customize(backwards).build(**target, configs={"warnings": False})(a)
    np.testing.assert_array_equal(a, [0, 5, -1, -5])
