"""Structs as arguments: integers of their width, and Structs of the same names and bits, on every target."""

from pathlib import Path

import numpy as np
import pytest

import allo
from allo.errors import FrontendError
from allo.ir.types import Struct, UInt, int8, int16, int32, uint8, uint16
from tests.compatibility.everywhere import EVERYWHERE, results

RNG = np.random.default_rng(9)
Signed = Struct({"re": int8, "im": uint8})
Plain = Struct({"re": uint8, "im": uint8})


def difference(p: Signed) -> int16:
    return p["re"] - p["im"]


def shifted(p: Signed, by: uint8) -> int16:
    p["re"] = p["re"] + by
    return difference(p)


def words(A: uint16[8], B: int16[8], C: int16[8], D: int16[8]):
    for i in range(8):
        B[i] = difference(A[i])
        p: Plain = A[i]
        C[i] = difference(p)
        D[i] = shifted(p, 3)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_integers_and_structs_of_the_same_bits(target: str, tmp_path: Path) -> None:
    a = RNG.integers(0, 2**16, 8).astype(np.uint16)
    *_, b, c, d = results(words, target, tmp_path, a, *(np.zeros(8, np.int16) for _ in range(3)))
    re, im = (a & 255).astype(np.uint8).view(np.int8), (a >> 8).astype(np.int16)
    np.testing.assert_array_equal(b, re - im)
    np.testing.assert_array_equal(c, re - im)
    np.testing.assert_array_equal(d, (re.astype(np.int16) + 3).astype(np.int8) - im)


def copies(A: Plain[4], B: Signed[4], C: int32[4]):
    for i in range(4):
        B[i] = A[i]
        q: Signed = A[i]
        r: Plain = q
        C[i] = q["re"] * r["re"]


@pytest.mark.parametrize("target", EVERYWHERE)
def test_elements_of_arrays_are_copied_between_them(target: str, tmp_path: Path) -> None:
    parts = RNG.integers(0, 256, (4, 2)).astype(np.uint8)
    a = np.zeros(4, np.dtype([("re", np.uint8), ("im", np.uint8)]))
    a["re"], a["im"] = parts[:, 0], parts[:, 1]
    made = np.zeros(4, np.dtype([("re", np.int8), ("im", np.uint8)])), np.zeros(4, np.int32)
    _, b, c = results(copies, target, tmp_path, a, *made)
    np.testing.assert_array_equal(b["re"], parts[:, 0].view(np.int8))
    np.testing.assert_array_equal(b["im"], parts[:, 1])
    np.testing.assert_array_equal(c, parts[:, 0].view(np.int8).astype(int) * parts[:, 0])


@pytest.mark.parametrize("width", [15, 17])
def test_an_integer_of_another_width_is_no_struct(width: int) -> None:
    def kernel(x: UInt(width)) -> int16:
        return difference(x)

    with pytest.raises(FrontendError) as caught:
        allo.customize(kernel)
    assert f"An integer of {width} bits cannot become struct<re: i8, im: ui8> of 16 bits." in str(
        caught.value
    )
    with pytest.raises(FrontendError, match="no cast from ui"):
        allo.interpret(kernel)
