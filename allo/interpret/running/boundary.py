"""The Python boundary of docs/cpu.md: NumPy arrays and numbers in, changed arrays and results out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ArgumentCountError, BoundaryError, DTypeWarning
from allo.dialects.types import AlloType, Block, Float, Index, Int, Stream, Struct, UFixed, UInt

from ..expressions.values import exact_of
from ..instance import Instance, Parameter
from ..known import Declared
from ..rules import is_fixed
from .arrays import Array
from .casts import has_modes, rounded_fixed, toward_zero, width, wrap
from .fifo import Fifo
from .formats import FORMATS, format_of, round_exact, round_fraction


def natural_dtype(dtype: AlloType) -> np.dtype:
    """The NumPy dtype in which arrays of a type are returned."""
    if isinstance(dtype, Float):
        if dtype.name == "bf16":
            import ml_dtypes

            found: np.dtype = np.dtype(ml_dtypes.bfloat16)
            return found
        return np.dtype(f"f{dtype.bits // 8}")
    if is_fixed(dtype):
        return np.dtype(np.float64)
    if isinstance(dtype, Block):
        return np.dtype((natural_dtype(dtype.element), dtype.shape))
    if isinstance(dtype, Struct):
        return np.dtype([(name, natural_dtype(field)) for name, field in dtype.fields.items()])
    if isinstance(dtype, UInt) and dtype.bits == 1:
        return np.dtype(np.bool_)
    if isinstance(dtype, Index):
        return np.dtype(np.int64)
    if dtype.bits > 64:
        return np.dtype([(f"f{i}", np.uint8) for i in range(-(-dtype.bits // 8))])
    size = next(s for s in (1, 2, 4, 8) if s * 8 >= dtype.bits)
    return np.dtype(f"{'i' if isinstance(dtype, Int) else 'u'}{size}")


# --- into the program ---------------------------------------------------------------------------


def refuse_out_of_range(value: Any, dtype: AlloType) -> None:
    """Refuse a number, or a field's, that its type cannot hold; digits below the last one are cut.

    Raises:
        ValueError: the number is out of range.
    """
    if isinstance(dtype, Block):
        return
    if isinstance(dtype, Struct):
        for name, field in dtype.fields.items():
            refuse_out_of_range(value[name], field)
        return
    if isinstance(dtype, Float) or getattr(dtype, "overflow", "wrap") == "saturate":
        return
    number = float(value) if isinstance(value, np.floating) or _is_bfloat16(value) else value
    scaled = Fraction(number if isinstance(number, float) else int(number)) * (1 << dtype.fracs)
    signed, size = not isinstance(dtype, (UInt, UFixed)), width(dtype) - 1
    least, most = (-(1 << size), (1 << size) - 1) if signed else (0, (2 << size) - 1)
    if not least <= toward_zero(scaled) <= max(most, 1):
        raise ValueError(f"{value} is out of the range of {dtype}")


def to_raw(value: Any, dtype: AlloType) -> Any:
    """A Python number as the raw value of a type; integers wrap, fractions go toward zero.

    Raises:
        ValueError: NaN or infinity for an integer or fixed point.
    """
    if isinstance(dtype, Block):
        if np.shape(value) != dtype.shape:
            raise ValueError(f"an array of shape {list(np.shape(value))} is no field {dtype}")
        return tuple(raw_elements(np.asarray(value), dtype.element))
    if isinstance(dtype, Struct):
        if isinstance(value, np.void) and value.dtype.names is not None:
            value = {name: value[name] for name in dtype.fields}
        if not isinstance(value, dict):
            raise TypeError(f"{type(value).__name__} is no dict of fields")
        return tuple(to_raw(value[name], field) for name, field in dtype.fields.items())
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    if isinstance(value, (int, np.integer)):
        exact: Any = int(value)
    elif isinstance(value, (float, np.floating)) or _is_bfloat16(value):
        exact = float(value)
    else:
        raise TypeError(f"{type(value).__name__} is no number")
    if isinstance(dtype, Float):
        return round_exact(exact_of(exact) if isinstance(exact, float) else exact, format_of(dtype))
    if isinstance(exact, float):
        if not math.isfinite(exact):
            raise ValueError(f"{value} has no value in {dtype}")
        exact = Fraction(exact)
    if has_modes(dtype):
        return rounded_fixed(exact, None, dtype, limited=False)
    return wrap(toward_zero(Fraction(exact) * (1 << dtype.fracs)), dtype)


def _is_bfloat16(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "name", None) == "bfloat16"


def _wide_rows(array: np.ndarray, dtype: AlloType) -> list[int]:
    """Integers above 64 bits: rows of bytes, lowest first."""
    size = array.dtype.itemsize
    data = np.ascontiguousarray(array).tobytes()
    return [
        wrap(int.from_bytes(data[k : k + size], "little"), dtype) for k in range(0, len(data), size)
    ]


def raw_elements(array: np.ndarray, dtype: AlloType, open_values: bool = False) -> list[Any]:
    """The elements of a NumPy array as raw values, row by row.

    ``open_values``: a number without a value in the type (NaN for an integer) is an element that
    was never written; the program may write it before it reads it.
    """
    if isinstance(dtype, Block):
        flat, size = raw_elements(array, dtype.element, open_values), len(dtype.fields)
        return [tuple(flat[k : k + size]) for k in range(0, len(flat), size)]
    if isinstance(dtype, Struct):
        if array.dtype.names is None:
            return [to_raw(e, dtype) for e in array.reshape(-1).tolist()]
        columns = [
            raw_elements(np.ascontiguousarray(array[name]), field, open_values)
            for name, field in dtype.fields.items()
        ]
        return list(zip(*columns, strict=True))
    if array.dtype.names is not None:
        return _wide_rows(array, dtype)
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    plain = array.reshape(-1).tolist()
    if isinstance(dtype, Float) and array.dtype == natural_dtype(dtype):
        return plain
    if isinstance(dtype, Float):
        return [to_raw(e, dtype) for e in plain]
    if open_values and array.dtype.kind == "f":
        return [None if e - e != 0 else to_raw(e, dtype) for e in plain]
    return [to_raw(e, dtype) for e in plain]


class Binding:
    """The arguments of one call, converted.

    Raises:
        BoundaryError: for a wrong number, kind, shape, layout or value.
    """

    def __init__(self, instance: Instance, values: Sequence[Any]) -> None:
        self.instance = instance
        parameters = instance.parameters
        if len(values) != len(parameters):
            names = ", ".join(f"{p.name}: {text(p.said)}" for p in parameters) or "nothing"
            raise ArgumentCountError(
                f"# of input arguments mismatch, got {len(values)} but expected {len(parameters)}.",
                instance.place,
                help=f"{instance.name} takes {names}.",
            )
        self.values = values
        self._arrays: list[tuple[Parameter, np.ndarray, Array]] = []
        self._ports: list[tuple[Parameter, np.ndarray, Fifo]] = []
        self.arguments = [
            self._bind(parameter, value)
            for parameter, value in zip(parameters, values, strict=True)
        ]

    def _bind(self, parameter: Parameter, value: Any) -> Any:
        said = parameter.said
        if isinstance(said.dtype, Stream):
            return self._port(parameter, said.dtype, value)
        if said.shape is None:
            return self._scalar(parameter, value)
        if not isinstance(value, np.ndarray):
            raise self._error(parameter, f"takes a NumPy array, not {type(value).__name__}")
        fits = len(value.shape) == len(said.shape) and all(
            want in (None, have) for have, want in zip(value.shape, said.shape, strict=True)
        )
        if not fits:
            raise self._error(parameter, f"has shape {list(said.shape)}, not {list(value.shape)}")
        if not value.flags.c_contiguous:
            raise self._error(parameter, "takes a C-contiguous array")
        if parameter.symbol.written and not value.flags.writeable:
            raise self._error(parameter, "is written, and the array is read-only")
        self._refuse_overlap(parameter, value)
        self._warn(parameter, value)
        try:
            data = raw_elements(value, said.dtype, open_values=parameter.symbol.written)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise self._error(parameter, f"cannot take these values: {error}") from error
        array = Array(data, value.shape)
        self._arrays.append((parameter, value, array))
        return array

    def _port(self, parameter: Parameter, stream: Stream, value: Any) -> Fifo:
        """A FIFO that holds the words of an array, or has room for as many."""
        if not isinstance(value, np.ndarray) or value.shape[1:] != stream.shape or not value.shape:
            block = "".join(f", {extent}" for extent in stream.shape)
            raise self._error(parameter, f"takes an array of its words, of shape [...{block}]")
        fifo = Fifo(parameter.name, len(value))
        if not parameter.symbol.is_filled:
            raw, size = raw_elements(value, stream.dtype), int(np.prod(stream.shape))
            rows = [raw[k : k + size] for k in range(0, len(raw), size)]
            fifo.items.extend([Array(row, stream.shape) for row in rows] if stream.shape else raw)
        self._ports.append((parameter, value, fifo))
        return fifo

    @property
    def words(self) -> dict[str, int]:
        """How many words each stream argument has passed."""
        return {
            parameter.name: len(fifo.items)
            if parameter.symbol.is_filled
            else len(value) - len(fifo.items)
            for parameter, value, fifo in self._ports
        }

    def _refuse_overlap(self, parameter: Parameter, value: np.ndarray) -> None:
        """Arrays of one memory are accepted where the kernel writes neither."""
        for other, given, _ in self._arrays:
            written = parameter.symbol.written or other.symbol.written
            if written and np.shares_memory(given, value):
                raise self._error(parameter, f"overlaps the array of {other.name!r}")

    def _warn(self, parameter: Parameter, value: np.ndarray) -> None:
        dtype = parameter.said.dtype
        if is_fixed(dtype) or value.dtype in (natural_dtype(dtype), np.dtype(object)):
            return
        warnings.warn(
            f"{parameter.name} is {text(parameter.said)}; the array of {value.dtype} is converted.",
            DTypeWarning,
            stacklevel=5,
        )

    def _scalar(self, parameter: Parameter, value: Any) -> Any:
        dtype = parameter.said.dtype
        if isinstance(value, np.ndarray) and value.shape == ():
            value = value[()]
        try:
            if isinstance(dtype, Struct) and isinstance(value, np.void):
                value = {name: value[name] for name in dtype.fields}
            elif isinstance(value, np.void):
                return wrap(int.from_bytes(value.tobytes(), "little"), dtype)
            elif isinstance(value, (str, bytes)) or value is None:
                raise TypeError(f"{type(value).__name__} is no number")
            raw = to_raw(value, dtype)
            refuse_out_of_range(value, dtype)
            return raw
        except (ValueError, TypeError, KeyError) as error:
            raise self._error(parameter, f"takes a number: {error}") from error

    def _error(self, parameter: Parameter, what: str) -> BoundaryError:
        return BoundaryError(
            f"The argument {parameter.name!r} of {self.instance.name} {what}.",
            parameter.place,
            help=f"it is declared as {text(parameter.said)}.",
        )

    def write_back(self) -> None:
        """Store the arrays that the program may have changed into the caller's."""
        for parameter, value, array in self._arrays:
            if not parameter.symbol.written:
                continue
            store(value, array.data, parameter.said.dtype)
        for parameter, value, fifo in self._ports:
            stream = parameter.said.dtype
            if parameter.symbol.is_filled and isinstance(stream, Stream):
                data = [
                    e for word in fifo.items for e in (word.elements() if stream.shape else [word])
                ]
                store(value[: len(fifo.items)], data, stream.dtype)


def store(array: np.ndarray, data: Sequence[Any], dtype: AlloType) -> None:
    """Write raw values to the caller's array; those never written stay as they are."""
    if isinstance(dtype, Block):
        store(array, [part for e in data for part in e], dtype.element)
        return
    if isinstance(dtype, Struct) and array.dtype.names is not None:
        for position, (name, field) in enumerate(dtype.fields.items()):
            store(array[name], [e[position] for e in data], field)
        return
    if array.dtype.kind == "O":
        array.reshape(-1)[:] = [to_number(e, dtype) for e in data]
        return
    written = np.array([e is not None for e in data], bool).reshape(array.shape)
    zero = 0.0 if isinstance(dtype, Float) else 0
    new = to_numpy([zero if e is None else e for e in data], array.shape, dtype)
    with np.errstate(all="ignore"):
        np.copyto(array, new, where=written, casting="unsafe")


def positional(instance: Instance, values: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The values of all parameters in order, the defaults of those left out included.

    Raises:
        ArgumentCountError: a name that is no parameter, or one that has its value already.
    """
    names = [parameter.name for parameter in instance.parameters]
    rest = names[len(values) :]
    for name in named:
        if name not in rest:
            problem = "is given twice in a call" if name in names else "is no parameter"
            raise ArgumentCountError(
                f"{name!r} {problem} of {instance.name}.",
                instance.place,
                help=f"its parameters: {', '.join(names)}.",
            )
    found = list(values)
    for parameter in instance.parameters[len(values) :]:
        value = named.get(parameter.name, parameter.value)
        if value is None:
            break
        found.append(value)
    return found


# --- out of the program ----------------------------------------------------------------------------


def to_number(raw: Any, dtype: AlloType) -> Any:
    """A raw value as a Python number; a Struct as a dict."""
    if isinstance(dtype, Block):
        return to_numpy(list(raw), dtype.shape, dtype.element)
    if isinstance(dtype, Struct):
        return {
            name: to_number(part, field)
            for part, (name, field) in zip(raw, dtype.fields.items(), strict=True)
        }
    if is_fixed(dtype):
        return round_fraction(raw, 1 << dtype.fracs, FORMATS["f64"])
    return float(raw) if isinstance(dtype, Float) else int(raw)


def to_numpy(data: list[Any], shape: tuple[int, ...], dtype: AlloType) -> np.ndarray:
    """Raw values as an array of the natural dtype."""
    natural = natural_dtype(dtype)
    if isinstance(dtype, Block):
        return to_numpy([part for e in data for part in e], (*shape, *dtype.shape), dtype.element)
    if isinstance(dtype, Struct):
        result = np.empty(shape, natural)
        for position, (name, field) in enumerate(dtype.fields.items()):
            result[name] = to_numpy([e[position] for e in data], shape, field)
        return result
    if is_fixed(dtype):
        return np.array([to_number(e, dtype) for e in data], natural).reshape(shape)
    if natural.names is not None:
        size = natural.itemsize
        mask = (1 << (8 * size)) - 1
        joined = b"".join((int(e) & mask).to_bytes(size, "little") for e in data)
        return np.frombuffer(joined, natural).reshape(shape).copy()
    if dtype.name == "bf16":
        return np.array(data, np.float32).astype(natural).reshape(shape)
    return np.array(data, natural).reshape(shape)


def results(value: Any, said: list[Declared]) -> Any:
    """What a call gives back: None, one result, or a list of them."""
    if not said:
        return None
    parts = [value] if len(said) == 1 else list(value)
    found = [_result(part, one) for part, one in zip(parts, said, strict=True)]
    return found[0] if len(found) == 1 else found


def _result(value: Any, said: Declared) -> Any:
    if isinstance(value, Array):
        return to_numpy(value.elements(), value.shape, said.dtype)
    return to_number(value, said.dtype)


def text(said: Declared) -> str:
    """A declared type as the user writes it: ``i32[4, 8]``."""
    if said.shape is None:
        return said.dtype.name
    return f"{said.dtype.name}[{', '.join('...' if e is None else str(e) for e in said.shape)}]"
