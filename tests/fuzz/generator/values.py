"""Random inputs of a program, as NumPy arrays and Python numbers."""

from __future__ import annotations

import math
import random
from typing import Any

import ml_dtypes
import numpy as np

from .program import Argument, Fields, Program

FLOATS: dict[str, Any] = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}
_SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, 3.0e38, 1e-40, 65504.0)


def inputs(program: Program, run: int) -> list[Any]:
    """The arguments of one call; the same for the same program and run."""
    return [
        _argument(argument, random.Random(f"{program.seed}/{run}/{argument.name}"))
        for argument in program.arguments
    ]


def _argument(argument: Argument, rng: random.Random) -> Any:
    if argument.fields:
        return _structs(argument, rng)
    if argument.shape is None:
        return _scalar(argument, rng)
    count = math.prod(argument.shape)
    numbers = [_number(argument, rng) for _ in range(count)]
    kind = natural_dtype(argument.kind, argument.bits)
    if kind is object:
        made = np.empty(count, dtype=object)
        made[:] = numbers
    else:
        with np.errstate(all="ignore"):
            made = np.array(numbers, dtype=kind)
    return made.reshape(argument.shape)


def _scalar(argument: Argument, rng: random.Random) -> Any:
    number = _number(argument, rng)
    if argument.kind not in FLOATS:
        return number
    with np.errstate(all="ignore"):
        return float(FLOATS[argument.kind](number))


def _structs(argument: Argument, rng: random.Random) -> Any:
    if argument.shape is None:
        return _record(argument.fields, rng)
    made = np.zeros(math.prod(argument.shape), dtype=_record_dtype(argument.fields))
    with np.errstate(all="ignore"):
        for position in range(made.size):
            made[position] = _tuple_of(_record(argument.fields, rng))
    return made.reshape(argument.shape)


def _record(fields: Fields, rng: random.Random) -> dict[str, Any]:
    return {name: _field(name, kind, about, rng) for name, kind, about in fields}


def _field(name: str, kind: str, about: Any, rng: random.Random) -> Any:
    if kind == "struct":
        return _record(about, rng)
    if kind != "array":
        return _scalar(Argument(name, kind, about), rng)
    element, bits, shape = about
    return _argument(Argument(name, element, bits, 0, tuple(shape)), rng)


def _tuple_of(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(_tuple_of(v) if isinstance(v, dict) else v for v in record.values())


def _record_dtype(fields: Fields) -> np.dtype:
    return np.dtype([(name, *_field_dtype(kind, about)) for name, kind, about in fields])


def _field_dtype(kind: str, about: Any) -> tuple[Any, ...]:
    """The NumPy type of a field, and its shape where it is an array."""
    if kind == "struct":
        return (_record_dtype(about),)
    if kind == "array":
        element, bits, shape = about
        return natural_dtype(element, bits), tuple(shape)
    return (natural_dtype(kind, about),)


def natural_dtype(kind: str, bits: int) -> Any:
    """The NumPy type that the boundary shares with a kernel."""
    if kind in FLOATS:
        return np.dtype(FLOATS[kind])
    if "Fixed" in kind:
        return np.dtype(np.float64)
    if kind == "UInt(1)":
        return np.dtype(np.bool_)
    if kind == "index":
        return np.dtype(np.int64)
    if bits > 64:
        return object
    size = next(n for n in (8, 16, 32, 64) if bits <= n)
    return np.dtype(f"{'u' if kind.startswith('U') else ''}int{size}")


def _number(argument: Argument, rng: random.Random) -> Any:
    if argument.kind in FLOATS:
        return _float(argument, rng)
    unsigned = argument.kind.startswith("U")
    raw = _integer(argument.bits, unsigned, argument.values, rng)
    if "Fixed" in argument.kind:
        return math.ldexp(float(raw), -argument.frac) if argument.bits <= 53 else 0.0
    if argument.kind == "index":
        return rng.randint(0, 7)
    return bool(raw) if argument.kind == "UInt(1)" else raw


def _integer(bits: int, unsigned: bool, values: str, rng: random.Random) -> int:
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    if values == "small":
        return rng.randint(max(low, -8), min(high, 8))
    choice = rng.random()
    if choice < 0.45:
        return max(low, min(high, rng.randint(-9, 12)))
    if choice < 0.6:
        return rng.choice((low, high, min(high, 1), low // 2, high // 2, max(low, -1)))
    if choice < 0.75:
        top = 1 << rng.randrange(bits)
        return max(low, min(high, rng.choice((top, top - 1, -top, 1 - top))))
    return rng.randint(low, high)


def _float(argument: Argument, rng: random.Random) -> float:
    if argument.values == "small":
        return float(rng.randint(-8, 8))
    choice = rng.random()
    if choice < 0.4:
        value = rng.randint(-40, 40) / 4
    elif choice < 0.5:
        value = rng.choice(_SPECIAL)
    elif choice < 0.75:
        value = rng.uniform(-4, 4)
    else:
        span = 12 if argument.bits == 16 else 60
        value = math.ldexp(rng.uniform(-1, 1), rng.randint(-span, span))
    return value
