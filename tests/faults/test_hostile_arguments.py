"""Whatever is passed to a built kernel, the outcome is the documented value or a named error.

Every kind of array a caller may hold is given for what a kernel reads and for what it writes, on every
target. What is expected is computed here from docs/cpu.md, in Python integers and fractions.
"""

from __future__ import annotations

import array
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import allo
from allo.errors import AlloError, InternalError
from allo.ir.types import Fixed, Int, UInt, bfloat16, float16, float32, float64, index, int32
from allo.utils import get_np_struct_type

TYPES = {
    "int32": int32,
    "i7": Int(7),
    "ui1": UInt(1),
    "ui64": UInt(64),
    "i100": Int(100),
    "fixed": Fixed(12, 4),
    "index": index,
    "f16": float16,
    "bf16": bfloat16,
    "f32": float32,
    "f64": float64,
}
FORMATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
WIDTHS = {"int32": 32, "i7": 7, "ui1": 1, "ui64": 64, "i100": 100, "index": 64}


def copy[T](x: T[4], y: T[4]):
    for i in range(4):
        y[i] = x[i]


def keep[T](v: T, y: T[2]):
    y[0] = v


@dataclass(frozen=True)
class Given:
    """An argument: how to make it, and the numbers it stands for (None: it must be refused)."""

    make: Callable[[], Any]
    values: tuple[Any, ...] | None
    alters: bool = True


def _plain(values: list[Any], dtype: Any) -> Given:
    kept = np.array(values).astype(dtype)
    return Given(lambda: np.array(values).astype(dtype), tuple(_number(v) for v in kept.tolist()))


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, np.longdouble) else value


def _object(values: list[Any]) -> np.ndarray:
    made = np.empty(len(values), object)
    made[:] = values
    return made


def _misaligned() -> np.ndarray:
    raw = bytearray(b"\0" + np.array([5, 6, 7, 8], np.int32).tobytes())
    return np.frombuffer(raw, np.int32, offset=1)


def _read_only() -> np.ndarray:
    made = np.array([1, 2, 3, 4], np.int32)
    made.flags.writeable = False
    return made


class Subclass(np.ndarray):
    """A user's own kind of array."""


SMALL = [1, 0, 3, 2]
MIXED = [1, -2, 3, 100]
HUGE = [10**400, -(10**400), 2**64, -1]
GIVEN: dict[str, Given] = {
    **{
        f"{dtype}": _plain(SMALL, dtype)
        for dtype in ("?", "i1", "u1", "i2", "u2", "u4", "i8", "u8", ">i4", ">f8", "<f4", "e", "g")
    },
    "mixed": _plain(MIXED, np.int32),
    "bfloat16": _plain(SMALL, ml_dtypes.bfloat16),
    "fractions": _plain([0.5, -1.75, 2.25, 63.9], np.float64),
    "objects": Given(lambda: _object([1, True, 2.5, -3]), (1, 1, 2.5, -3)),
    "huge": Given(lambda: _object(HUGE), tuple(HUGE)),
    "large floats": _plain([1e30, -1e30, 3e9, -3e9], np.float64),
    "nan": _plain([math.nan, 1.0, 2.0, 3.0], np.float64),
    "infinite": _plain([math.inf, -math.inf, 2.0, 3.0], np.float64),
    "subclass": Given(lambda: np.array(SMALL, np.int32).view(Subclass), tuple(SMALL)),
    "misaligned": Given(_misaligned, (5, 6, 7, 8)),
    "read only": Given(_read_only, (1, 2, 3, 4), alters=False),
    "structured": Given(lambda: np.array([(k,) for k in SMALL], [("a", np.int32)]), None),
    "object fields": Given(lambda: np.zeros(4, [(f"f{k}", object) for k in range(13)]), None),
    "none": Given(lambda: None, None),
    "list": Given(lambda: [1, 2, 3, 4], None),
    "text": Given(lambda: "1234", None),
    "number": Given(lambda: 5, None),
    "array.array": Given(lambda: array.array("i", [1, 2, 3, 4]), None),
    "memoryview": Given(lambda: memoryview(np.zeros(4, np.int32)), None),
    "strings": Given(lambda: np.array(["1", "2", "3", "4"]), None),
    "bytes": Given(lambda: np.array([b"1", b"2", b"3", b"4"]), None),
    "complex": Given(lambda: np.ones(4, complex), None),
    "dates": Given(lambda: np.zeros(4, "M8[s]"), None),
    "durations": Given(lambda: np.zeros(4, "m8[s]"), None),
    "void": Given(lambda: np.zeros(4, "V4"), None),
    "objects that are no numbers": Given(lambda: _object([1, "2", None, 4]), None),
    "masked": Given(lambda: np.ma.masked_array([1, 2, 3, 4], [0, 1, 0, 0]), None),
    "reversed": Given(lambda: np.arange(4, dtype=np.int32)[::-1], None),
    "strided": Given(lambda: np.arange(8, dtype=np.int32)[::2], None),
    "broadcast": Given(lambda: np.broadcast_to(np.int32(3), (4,)), None),
    "no dimension": Given(lambda: np.array(5, np.int32), None),
    "two dimensions": Given(lambda: np.zeros((2, 2), np.int32), None),
    "matrix": Given(lambda: np.matrix([1, 2, 3, 4]), None),
    "too long": Given(lambda: np.zeros(5, np.int32), None),
    "empty": Given(lambda: np.zeros(0, np.int32), None),
}


def held(name: str, value: Any) -> Any:
    """A number as a kernel's type holds it; None where docs/cpu.md refuses it."""
    exact = math.isfinite(value) if isinstance(value, float) else True
    if name in FORMATS:
        try:
            wide = float(value)
        except OverflowError:
            wide = math.inf if value > 0 else -math.inf
        with np.errstate(over="ignore"):
            return float(FORMATS[name](wide))
    if not exact:
        return None
    scale = 16 if name == "fixed" else 1
    width = 12 if name == "fixed" else WIDTHS[name]
    whole = math.trunc(Fraction(value) * scale) % (1 << width)
    if not name.startswith("ui") and whole >> (width - 1):
        whole -= 1 << width
    return whole / 16 if name == "fixed" else whole


def fits(name: str, value: Any) -> bool:
    """Whether a number is in the range of the type of a scalar; digits behind the last one are cut."""
    if name in FORMATS or (isinstance(value, float) and not math.isfinite(value)):
        return True
    scale, width = (16, 12) if name == "fixed" else (1, WIDTHS[name])
    least, end = (0, 1 << width) if name.startswith("ui") else (-(1 << width - 1), 1 << width - 1)
    return least - 1 < Fraction(value) * scale < end


def python_values(cells: np.ndarray) -> list[Any]:
    if cells.dtype.names:
        return [int.from_bytes(cell.tobytes(), "little", signed=True) for cell in cells]
    return cells.tolist()


def same(got: list[Any], expected: list[Any]) -> bool:
    pairs = zip(got, expected, strict=True)
    return all(g == e or (g != g and e != e) for g, e in pairs)


def natural(name: str) -> np.ndarray:
    kinds = {"int32": np.int32, "i7": np.int8, "ui1": np.bool_, "ui64": np.uint64}
    kinds |= {"i100": get_np_struct_type(100), "fixed": np.float64, "index": np.int64}
    return np.zeros(4, {**kinds, **FORMATS}[name])


def check_read(name: str, run: Callable, given: Given) -> None:
    """Pass an argument for what the kernel reads."""
    y = natural(name)
    expected = None if given.values is None else [held(name, v) for v in given.values]
    argument = given.make()
    if expected is None or None in expected:
        with pytest.raises(AlloError) as caught:
            run(argument, y)
        assert not isinstance(caught.value, InternalError)
        assert caught.value.message.startswith("Argument x of copy")
        assert not any(python_values(y))
        return
    run(argument, y)
    assert same(python_values(y), expected)
    assert same(argument.tolist(), list(given.values or ()))


def into(dtype: np.dtype, value: Any) -> Any:
    """A kernel's number as an array of the caller's takes it."""
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        whole = math.trunc(value) % (1 << bits)
        return whole - (1 << bits) if dtype.kind == "i" and whole >> (bits - 1) else whole
    return value if dtype.kind == "O" else float(np.array(value, np.float64).astype(dtype))


def check_written(name: str, run: Callable, given: Given) -> None:
    """Pass an argument for what the kernel writes: the numbers 1, 0, 1, 1 or an error, unchanged."""
    x = natural(name)
    if x.dtype.names:
        x[[0, 2, 3]] = np.array([(1,) + (0,) * 12], x.dtype)[0]
    else:
        x[[0, 2, 3]] = 1
    argument = given.make()
    refused = given.values is None or not given.alters
    # A type that is no float cannot hold what the array held before, which the kernel may not read.
    if not refused and None in [held(name, v) for v in given.values or ()] and name != "fixed":
        refused = True
    if refused:
        with pytest.raises(AlloError) as caught:
            run(x, argument)
        assert not isinstance(caught.value, InternalError)
        assert caught.value.message.startswith("Argument y of copy")
        return
    run(x, argument)
    expected = [into(argument.dtype, v) for v in (1, 0, 1, 1)]
    assert same(argument.tolist(), expected)


def build(name: str, target: str) -> Callable:
    options: dict[str, dict[str, Any]] = {
        "cpu": {},
        "csim": {"target": "vhls"},
        "jit": {"target": "verilog", "simulator": "jit"},
        "verilator": {"target": "verilog"},
    }
    return allo.customize(copy, instantiate=[TYPES[name]]).build(**options[target])


PLACES = [
    *(("cpu", name) for name in TYPES),
    *(("jit", name) for name in ("int32", "i7", "i100", "fixed", "bf16", "f32")),
    *(("csim", name) for name in ("i100", "fixed", "f16")),
    ("verilator", "i100"),
]


@pytest.mark.parametrize(("target", "name"), PLACES)
@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
def test_every_kind_of_array(target: str, name: str) -> None:
    run = build(name, target)
    for kind, given in GIVEN.items():
        try:
            check_read(name, run, given)
            check_written(name, run, given)
        except BaseException as error:
            error.add_note(f"{kind} for {name} on {target}")
            raise


SCALARS: list[tuple[Any, Any]] = [
    *((value, value) for value in (0, 1, -1, 2**70, -(10**400), 2.5, -1e30, True)),
    (np.int8(-3), -3),
    (np.float32(1.5), 1.5),
    (np.bool_(True), 1),
    (ml_dtypes.bfloat16(2), 2),
    (np.array(7), 7),
    (math.nan, math.nan),
    (math.inf, math.inf),
    *(
        (value, None)
        for value in (None, "1", b"1", 1j, [1], {}, object(), np.zeros(1), np.zeros(2))
    ),
    *((value, None) for value in (np.datetime64(5, "s"), np.timedelta64(5, "s"), Fraction(1, 2))),
    (np.array("1"), None),
    (np.longdouble(2), None),
]


@pytest.mark.parametrize("name", [n for n in TYPES if n != "i100"])
@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
def test_every_kind_of_scalar(name: str) -> None:
    simulators: list[dict[str, Any]] = [{}, {"target": "verilog", "simulator": "jit"}]
    for simulator in simulators[: 1 if name == "index" else 2]:
        run = allo.customize(keep, instantiate=[TYPES[name]]).build(**simulator)
        for value, number in SCALARS:
            y = natural(name)[:2].copy()
            refused = number is None or not fits(name, number)
            expected = None if refused else held(name, number)
            if expected is None:
                with pytest.raises(AlloError) as caught:
                    run(value, y)
                assert caught.value.message.startswith("Argument v of keep"), value
                continue
            run(value, y)
            assert same(python_values(y), [expected, 0]), (name, value)


def test_a_masked_array_is_refused_with_a_remedy() -> None:
    run = build("int32", "cpu")
    with pytest.raises(AlloError) as caught:
        run(np.ma.masked_array(np.arange(4, dtype=np.int32)), np.zeros(4, np.int32))
    assert "got a masked array, and a kernel knows no mask." in caught.value.message
    assert caught.value.help == "pass its .data, or .filled(…) with a value for what is masked."


def test_the_reason_of_a_refused_element_is_shown() -> None:
    run = build("f32", "cpu")
    with pytest.raises(AlloError, match="'x+…' is not a value of type f32|x{20,}…") as caught:
        run(_object([1, "x" * 500, 2, 3]), np.zeros(4, np.float32))
    assert len(caught.value.message) < 200


def test_wrong_numbers_of_arguments_on_every_target() -> None:
    for target in ("cpu", "jit", "csim"):
        run = build("i100" if target == "csim" else "int32", target)
        for arguments in ((), (None,), (None,) * 3):
            with pytest.raises(AlloError, match="# of input arguments mismatch"):
                run(*arguments)


def test_no_warning_but_those_of_types() -> None:
    """NumPy's own warnings (overflow, complex, invalid) are no way to learn of a conversion."""
    run = build("f16", "cpu")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run(np.array([1e30, -1e30, math.nan, 65520.0]), np.zeros(4, np.float16))
        run(np.zeros(4, np.float16), np.zeros(4, np.int8))
    assert {w.category.__name__ for w in seen} == {"DTypeWarning"}
