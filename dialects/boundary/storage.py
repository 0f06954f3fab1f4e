"""How values lie in memory, and how NumPy arrays turn into that and back.

A *cell* holds one value: 1, 2, 4 or 8 bytes up to 64 bits, then a multiple of 16 bytes, little-endian.
An integer narrower than its cell is zero-extended in it, as LLVM's code expects. The *natural*
dtype of a type is the NumPy dtype a user sees: ``int16`` for Int(9), ``bool`` for
UInt(1), ``float64`` for fixed point, a structure of bytes for integers above 64 bits.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.integers import as_signed
from ..diagnostics import DTypeError
from ..rounding import quantised
from ..text.shown import shown
from ..types import AlloType, Block, Fixed, FixedPoint, Float, Index, Int, Struct, UFixed, UInt

_NATIVE_BITS = (8, 16, 32, 64)
_FINITE = "replace what is not finite before the call, as np.nan_to_num does."


def cell_bytes(dtype: AlloType) -> int:
    """Bytes from one element of an array to the next."""
    if isinstance(dtype, Index):
        return 8
    if dtype.bits <= 64:
        return max(1, 1 << (dtype.bits - 1).bit_length() >> 3)
    return -(-dtype.bits // 128) * 16


def is_signed(dtype: AlloType) -> bool:
    """Whether the raw integer of a value is read in two's complement."""
    return isinstance(dtype, (Int, Fixed, Index))


def is_fixed(dtype: AlloType) -> bool:
    """Whether a type is a fixed-point type, signed or unsigned."""
    return isinstance(dtype, (Fixed, UFixed))


@functools.cache
def get_np_struct_type(bits: int) -> np.dtype:
    """The NumPy dtype of an integer above 64 bits: fields ``f0``, ``f1`` … of a byte, lowest first."""
    return np.dtype([(f"f{i}", np.uint8) for i in range(-(-bits // 8))])


@functools.cache
def natural_dtype(dtype: AlloType) -> np.dtype:
    """The NumPy dtype in which arrays of ``dtype`` are returned, and taken without conversion.

    Raises:
        DTypeError: for a type that has no place at the Python boundary (a stream).
    """
    if isinstance(dtype, Float):
        return _bfloat16() if dtype.name == "bf16" else np.dtype(f"f{dtype.bits // 8}")
    if is_fixed(dtype):
        return np.dtype(np.float64)
    if isinstance(dtype, Block):
        return np.dtype((natural_dtype(dtype.element), dtype.shape))
    if isinstance(dtype, Struct):
        return np.dtype([(name, natural_dtype(field)) for name, field in dtype.fields.items()])
    if isinstance(dtype, UInt) and dtype.bits == 1:
        return np.dtype(np.bool_)
    if not isinstance(dtype, (Int, UInt, Index)):
        raise DTypeError(
            f"A value of type {dtype} cannot pass between Python and a kernel.",
            help="pass numbers, arrays or Structs.",
        )
    if dtype.bits > 64:
        return get_np_struct_type(dtype.bits)
    return np.dtype(f"{'i' if is_signed(dtype) else 'u'}{cell_bytes(dtype)}")


def _bfloat16() -> np.dtype:
    import ml_dtypes

    bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return bfloat16


@functools.cache
def is_native(dtype: AlloType) -> bool:
    """Whether an array of the natural dtype *is* the cells, so that memory can be shared."""
    if isinstance(dtype, (Float, Index)):
        return True
    if isinstance(dtype, UInt) and dtype.bits == 1:
        return True
    return isinstance(dtype, (Int, UInt)) and dtype.bits in _NATIVE_BITS


def encode(array: np.ndarray, dtype: AlloType) -> np.ndarray:
    """Cells for the values of ``array``, in memory of their own, C-contiguous.

    Integers wrap to the width; floats become integers toward zero; fixed point is scaled by
    2^fracs, toward zero. Up to 64 bits the result has the shape of ``array``;
    above, it is ``uint8`` with one more dimension, the bytes of a cell.

    Raises:
        DTypeError: when the values have no meaning in ``dtype`` (text, NaN for an integer).
    """
    if isinstance(dtype, Float):
        return _encode_float(array, dtype)
    if isinstance(dtype, Struct):
        return _encode_struct(array, dtype)
    if isinstance(dtype, FixedPoint) and dtype.has_modes:
        return encode(_rounded(array, dtype), _raw_type(dtype))
    if dtype.bits > 64:
        return _encode_wide(array, dtype)
    raw = _integers(array, dtype)
    if dtype.bits == 64 or isinstance(dtype, Index):
        return raw
    masked = raw & np.uint64((1 << dtype.bits) - 1)
    return masked.astype(f"u{cell_bytes(dtype)}", order="C")


def decode(cells: np.ndarray, dtype: AlloType) -> np.ndarray:
    """The values of cells as an array of the natural dtype; the inverse of :func:`encode`."""
    natural = natural_dtype(dtype)
    if isinstance(dtype, Struct):
        return _decode_struct(cells, dtype)
    if is_native(dtype):
        return cells.view(natural)
    if is_fixed(dtype):
        return _decode_fixed(cells, dtype)
    if dtype.bits > 64:
        return _decode_wide(cells, dtype)
    return _extend(cells, dtype).astype(natural)


def empty_cells(shape: tuple[int, ...], dtype: AlloType) -> np.ndarray:
    """Zeroed cells for an array of ``shape``, laid out as :func:`encode` does."""
    if isinstance(dtype, Float):
        return np.zeros(shape, natural_dtype(dtype))
    if dtype.bits <= 64 or isinstance(dtype, Index):
        return np.zeros(shape, f"u{cell_bytes(dtype)}")
    return np.zeros((*shape, cell_bytes(dtype)), np.uint8)


def to_python(cells: np.ndarray, dtype: AlloType) -> Any:
    """The one value of zero-dimensional cells as a Python int, float or dict (of a Struct)."""
    if isinstance(dtype, Block):
        return _decode_struct(cells, dtype)
    if isinstance(dtype, Struct):
        return _struct_to_python(_int_of(cells), dtype)
    if isinstance(dtype, Float):
        return float(cells.view(natural_dtype(dtype)))
    bits = 64 if isinstance(dtype, Index) else dtype.bits
    value = _int_of(cells)
    value = as_signed(value, bits) if is_signed(dtype) else value & ((1 << bits) - 1)
    return value / (1 << dtype.fracs) if is_fixed(dtype) else value


def _int_of(cells: np.ndarray) -> int:
    return int.from_bytes(cells.tobytes(), "little")


def _struct_to_python(bits: int, dtype: Struct) -> dict[str, Any]:
    values = {}
    for name, field in dtype.fields.items():
        part = (bits & ((1 << field.bits) - 1)).to_bytes(cell_bytes(field), "little")
        cells: np.ndarray = np.frombuffer(part, np.uint8)
        if field.bits <= 64:
            cells = cells.view(f"u{len(part)}").reshape(())
        values[name] = to_python(cells, field)
        bits >>= field.bits
    return values


def _encode_float(array: np.ndarray, dtype: AlloType) -> np.ndarray:
    if array.dtype.kind not in "biufO" and array.dtype.name != "bfloat16":
        raise DTypeError(
            f"An array of {array.dtype} has no values of type {dtype}.",
            help="convert it first, with astype.",
        )
    if array.dtype.kind == "O":
        array = _floats_of(array, dtype)
    target = natural_dtype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.name == "bf16" and array.dtype.kind in "iub":
            array = array.astype(np.float64)
        return np.array(array, target, order="C")


def _floats_of(array: np.ndarray, dtype: AlloType) -> np.ndarray:
    """Python's numbers as floats, infinity for what is too large for one."""
    for value in array.ravel().tolist():
        if not isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_)):
            raise DTypeError(
                f"{shown(value)} is not a value of type {dtype}.", help="pass a number."
            )
    values = [float_of(value) for value in array.ravel().tolist()]
    return np.array(values, np.float64).reshape(array.shape)


def float_of(value: Any) -> float:
    """A number as a float; infinity where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _integers(array: np.ndarray, dtype: AlloType) -> np.ndarray:
    """The raw integers of values, modulo 2^64, as uint64."""
    kind = array.dtype.kind
    if kind in "iub" and dtype.fracs < 64:
        return array.astype(np.uint64, order="C") << np.uint64(dtype.fracs)
    if kind == "O":
        ints = [_scaled(value, dtype) & ((1 << 64) - 1) for value in array.ravel().tolist()]
        return np.array(ints, np.uint64).reshape(array.shape)
    if kind not in "iubf" and array.dtype.name != "bfloat16":
        raise DTypeError(
            f"An array of {array.dtype} has no values of type {dtype}.",
            help="convert it first, with astype.",
        )
    values = np.trunc(np.ldexp(array.astype(np.float64), dtype.fracs))
    if not np.isfinite(values).all():
        raise DTypeError(f"NaN or infinity cannot become {dtype}.", help=_FINITE)
    small = np.abs(values) < 2.0**63
    if small.all():
        return values.astype(np.int64).view(np.uint64)
    return _integers(values.astype(object), _raw_type(dtype))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _rounded(array: np.ndarray, dtype: FixedPoint) -> np.ndarray:
    """The raw integers of values in a type that rounds or saturates, as objects."""
    _integers(array, dtype)  # refuses what is no finite number
    values = array.astype(np.float64) if array.dtype.kind not in "iubO" else array
    raw = [
        quantised(Fraction(value), dtype, is_float=isinstance(value, float))
        for value in map(_plain, values.ravel().tolist())
    ]
    return np.array(raw, object).reshape(array.shape)


def _raw_type(dtype: AlloType) -> AlloType:
    return Int(dtype.bits) if is_signed(dtype) else UInt(dtype.bits)


def _scaled(value: Any, dtype: AlloType) -> int:
    if isinstance(value, (bool, int, np.integer)):
        return int(value) << dtype.fracs
    if not isinstance(value, (float, np.floating)):
        raise DTypeError(f"{shown(value)} is not a value of type {dtype}.", help="pass a number.")
    if not np.isfinite(value):
        raise DTypeError(f"{value} cannot become {dtype}.", help=_FINITE)
    over, under = float(value).as_integer_ratio()
    scaled = abs(over << dtype.fracs) // under
    return -scaled if over < 0 else scaled


def _encode_wide(array: np.ndarray, dtype: AlloType) -> np.ndarray:
    used, cell = -(-dtype.bits // 8), cell_bytes(dtype)
    cells = np.zeros((*array.shape, cell), np.uint8)
    if array.dtype.names and not is_fixed(dtype):
        if array.dtype.hasobject:
            raise DTypeError(
                f"An array of {array.dtype} has no values of type {dtype}.",
                help="convert it first, with astype.",
            )
        if array.dtype.itemsize < used:
            raise DTypeError(
                f"A cell of {array.dtype.itemsize} bytes is too small for {dtype}.",
                help="make the array with the type that the kernel declares.",
            )
        source = np.ascontiguousarray(array).view(np.uint8)
        cells[..., :used] = source.reshape(*array.shape, array.dtype.itemsize)[..., :used]
        if dtype.bits % 8:
            cells[..., used - 1] &= (1 << dtype.bits % 8) - 1
        return cells
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float64)
    if array.dtype.names or array.dtype.kind not in "iubfO":
        raise DTypeError(
            f"An array of {array.dtype} has no values of type {dtype}.",
            help="convert it first, with astype.",
        )
    mask = (1 << dtype.bits) - 1
    joined = b"".join(
        (_scaled(value, dtype) & mask).to_bytes(cell, "little") for value in array.ravel().tolist()
    )
    return np.frombuffer(joined, np.uint8).reshape(cells.shape).copy()


def _extend(cells: np.ndarray, dtype: AlloType) -> np.ndarray:
    wide = cells.astype(np.uint64) & np.uint64((1 << dtype.bits) - 1)
    if not is_signed(dtype):
        return wide
    shift = np.int64(64 - dtype.bits)
    return (wide.view(np.int64) << shift) >> shift


def _decode_fixed(cells: np.ndarray, dtype: AlloType) -> np.ndarray:
    if dtype.bits <= 64:
        return np.ldexp(_extend(cells, dtype).astype(np.float64), -dtype.fracs)
    flat = cells.reshape(-1, cells.shape[-1])
    values = [to_python(cell, dtype) for cell in flat]
    return np.array(values, np.float64).reshape(cells.shape[:-1])


def _decode_wide(cells: np.ndarray, dtype: AlloType) -> np.ndarray:
    used = -(-dtype.bits // 8)
    data = np.array(cells[..., :used], order="C")
    extra = dtype.bits % 8
    if extra:
        top = data[..., -1] & np.uint8((1 << extra) - 1)
        if is_signed(dtype):
            shift = 8 - extra
            top = ((top << shift).view(np.int8) >> shift).view(np.uint8)
        data[..., -1] = top
    return data.view(natural_dtype(dtype)).reshape(cells.shape[:-1])


def _encode_struct(array: np.ndarray, dtype: Struct) -> np.ndarray:
    outer = array.shape
    if isinstance(dtype, Block):
        columns = _columns(array, dtype)
        outer = outer[: array.ndim - len(dtype.shape)]
    elif set(array.dtype.names or ()) == set(dtype.fields):
        columns = {name: array[name] for name in dtype.fields}
    else:
        wanted = ", ".join(dtype.fields)
        raise DTypeError(
            f"An array of {array.dtype} does not hold a {dtype}.",
            help=f"pass a NumPy structured array with the fields {wanted}.",
        )
    kind = _word_dtype(dtype)
    total: Any = np.zeros(outer, kind)
    position = 0
    for name, field in dtype.fields.items():
        ints = _cells_to_ints(encode(columns[name], field), field).astype(kind)
        mask = _amount((1 << field.bits) - 1, kind)
        total = total | (ints & mask) << _amount(position, kind)
        position += field.bits
    return encode(np.asarray(total, kind), UInt(dtype.bits))


def _columns(array: np.ndarray, dtype: Block) -> dict[str, np.ndarray]:
    """The elements of the arrays in Structs, each of all Structs: the last dimensions are theirs."""
    rank = array.ndim - len(dtype.shape)
    if rank < 0 or array.shape[rank:] != dtype.shape:
        raise DTypeError(
            f"An array of shape {list(array.shape)} is no field of shape {list(dtype.shape)}.",
            help="the field of the NumPy array has these extents: np.dtype([(name, type, extents)]).",
        )
    flat = array.reshape(*array.shape[:rank], -1)
    return {name: flat[..., number] for number, name in enumerate(dtype.fields)}


def _word_dtype(dtype: Struct) -> np.dtype:
    """What computes with whole Structs: machine words while they hold one."""
    return np.dtype(np.uint64 if dtype.bits <= 64 else object)


def _amount(count: int, kind: np.dtype) -> Any:
    return count if kind.hasobject else np.uint64(count)


def _cells_to_ints(cells: np.ndarray, dtype: AlloType) -> np.ndarray:
    if dtype.bits > 64:
        flat = [_int_of(cell) for cell in cells.reshape(-1, cells.shape[-1])]
        return np.array(flat, object).reshape(cells.shape[:-1])
    return cells.view(f"u{cells.dtype.itemsize}")


def _decode_struct(cells: np.ndarray, dtype: Struct) -> np.ndarray:
    kind = _word_dtype(dtype)
    ints = _cells_to_ints(cells, dtype).astype(kind)
    result = np.zeros(ints.shape, natural_dtype(dtype))
    columns = _columns(result, dtype) if isinstance(dtype, Block) else result
    position = 0
    for name, field in dtype.fields.items():
        part = (ints >> _amount(position, kind)) & _amount((1 << field.bits) - 1, kind)
        raw = encode(np.asarray(part, kind), UInt(field.bits))
        columns[name][...] = decode(raw.view(_view_dtype(raw, field)), field)
        position += field.bits
    return result


def _view_dtype(raw: np.ndarray, field: AlloType) -> np.dtype:
    return natural_dtype(field) if isinstance(field, Float) else raw.dtype
