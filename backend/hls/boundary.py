"""Between NumPy and the parameters of a C++ top function.

An integer of N bits lies in a container of the next power of two of bytes; fixed point as
its raw bits in such a container, scaled on the way in and out; bfloat16 as its 16 bits.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from allo.dialects.diagnostics import BoundaryError, DTypeWarning
from allo.dialects.types import AlloType, Fixed, Float, Index, Int, UFixed, UInt

from .signature import Param


def container_bits(bits: int) -> int:
    """Width of the container of a ``bits``-wide integer: 8, 16, 32, 64, 128 …"""
    width = 8
    while width < bits:
        width *= 2
    return width


@dataclass(frozen=True, slots=True)
class Container:
    """How values of one declared type lie in memory at the boundary.

    Attributes:
        storage: NumPy type of the memory handed to C++.
        natural: NumPy type in which results are returned.
    """

    declared: AlloType
    storage: np.dtype
    natural: np.dtype

    @property
    def is_scaled(self) -> bool:
        return isinstance(self.declared, (Fixed, UFixed))

    @property
    def is_wide(self) -> bool:
        return self.storage.kind == "V"

    def pack(self, values: np.ndarray, what: str) -> np.ndarray:
        """``values`` as a fresh contiguous array of the storage type.

        Raises:
            BoundaryError: when the values cannot be converted.
        """
        if self.is_wide:
            return self._pack_wide(values, what)
        if self.is_scaled:
            scaled = np.asarray(values, np.float64) * 2.0**self.declared.fracs
            return _wrapped(np.trunc(scaled), self.storage, self.declared.bits)
        if self.declared.name == "bf16":
            return _to_bfloat(values)
        try:
            if self.storage.kind in "iu" and values.dtype.kind == "f":
                return _wrapped(np.trunc(values), self.storage, self.declared.bits)
            return np.array(values.astype(self.storage), order="C")
        except (TypeError, ValueError) as error:
            raise BoundaryError(
                f"{what} of dtype {values.dtype} cannot be converted to {self.declared}."
            ) from error

    def unpack(self, stored: np.ndarray) -> np.ndarray:
        """Stored values in the natural type."""
        if self.is_wide:
            return stored
        if self.is_scaled:
            return stored.astype(np.float64) / 2.0**self.declared.fracs
        if self.declared.name == "bf16":
            return stored.view(self.natural) if self.natural.itemsize == 2 else _from_bfloat(stored)
        if self.declared.name == "i1":
            return -(stored & 1).astype(self.natural)
        return stored

    def unpack_scalar(self, stored: np.ndarray) -> int | float:
        """One stored value as a Python number."""
        if self.is_wide:
            signed = isinstance(self.declared, (Int, Fixed))
            return int.from_bytes(stored.tobytes(), "little", signed=signed)
        value = self.unpack(stored.reshape(1))[0]
        return float(value) if isinstance(self.declared, (Float, Fixed, UFixed)) else int(value)

    def _pack_wide(self, values: np.ndarray, what: str) -> np.ndarray:
        if values.dtype.itemsize == self.storage.itemsize and values.dtype.kind == "V":
            return np.array(values, order="C").view(self.storage)
        if values.dtype.kind not in "iubO":
            raise BoundaryError(
                f"{what} of dtype {values.dtype} cannot be converted to {self.declared}.",
                help="pass integers (dtype object), or a structured array of "
                f"{self.storage.itemsize} bytes an element.",
            )
        mask = (1 << (8 * self.storage.itemsize)) - 1
        raw = b"".join(
            (int(v) & mask).to_bytes(self.storage.itemsize, "little") for v in values.reshape(-1)
        )
        return np.frombuffer(bytearray(raw), self.storage).reshape(values.shape)


def container_of(declared: AlloType) -> Container:
    """The container of a declared type."""
    if isinstance(declared, Index):
        return Container(declared, np.dtype(np.int64), np.dtype(np.int64))
    if isinstance(declared, Float):
        if declared.name == "bf16":
            return Container(declared, np.dtype(np.uint16), _bfloat_dtype())
        dtype = np.dtype(f"float{declared.bits}")
        return Container(declared, dtype, dtype)
    if isinstance(declared, UInt) and declared.bits == 1:
        return Container(declared, np.dtype(np.bool_), np.dtype(np.bool_))
    signed = isinstance(declared, (Int, Fixed))
    width = container_bits(declared.bits)
    if width > 64:
        wide = np.dtype([(f"f{k}", np.uint8) for k in range(width // 8)])
        return Container(declared, wide, wide)
    dtype = np.dtype(f"{'' if signed else 'u'}int{width}")
    scaled = isinstance(declared, (Fixed, UFixed))
    return Container(declared, dtype, np.dtype(np.float64) if scaled else dtype)


def _bfloat_dtype() -> np.dtype:
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.float32)
    return np.dtype(ml_dtypes.bfloat16)


def _to_bfloat(values: np.ndarray) -> np.ndarray:
    if values.dtype.name == "bfloat16" or values.dtype == np.uint16:
        return np.array(values, order="C").view(np.uint16)
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = np.isnan(values)
    return np.where(nan, (bits >> 16) | 0x40, rounded).astype(np.uint16)


def _from_bfloat(stored: np.ndarray) -> np.ndarray:
    return (stored.astype(np.uint32) << 16).view(np.float32)


def _wrapped(values: np.ndarray, storage: np.dtype, bits: int) -> np.ndarray:
    integers = np.array([int(v) & ((1 << bits) - 1) for v in values.reshape(-1)], dtype=object)
    if storage.kind == "i":
        half = 1 << (bits - 1)
        integers = np.array([v - 2 * half if v >= half else v for v in integers], dtype=object)
    return integers.astype(storage).reshape(values.shape)


@dataclass(slots=True)
class Slot:
    """One argument on its way through a call: the memory C++ sees, and where results go back."""

    memory: np.ndarray
    home: np.ndarray | None
    container: Container

    def write_back(self) -> None:
        """Convert what C++ wrote into the caller's array, when that was not shared."""
        if self.home is None:
            return
        if self.container.is_wide and self.home.dtype.kind == "V":
            self.home[...] = self.memory.view(self.home.dtype)
            return
        if self.container.is_wide:
            flat = [self.container.unpack_scalar(v) for v in self.memory.reshape(-1)]
            self.home[...] = np.array(flat, dtype=object).reshape(self.home.shape)
            return
        self.home[...] = self.container.unpack(self.memory).astype(self.home.dtype)


def array_slot(param: Param, value: Any, position: int, name: str) -> Slot:
    """Check an array argument and give C++ its memory, shared where the types agree.

    Raises:
        BoundaryError: no array, the wrong shape, or a type that cannot be converted.
    """
    what = f"Argument {position} ({name})"
    shape = param.shape or (() if param.shape == () else ())
    if not isinstance(value, np.ndarray):
        raise BoundaryError(
            f"{what} must be a NumPy array of shape {_shape(shape)}, not {type(value).__name__}.",
            help="convert it with np.array(…, dtype=…).",
        )
    if value.shape != shape and value.size != int(np.prod(shape, dtype=np.int64)):
        raise BoundaryError(
            f"{what} has shape {_shape(value.shape)}, but the kernel takes {_shape(shape)}."
        )
    if value.shape != shape and not (shape == () and value.shape == (1,)):
        raise BoundaryError(
            f"{what} has shape {_shape(value.shape)}, but the kernel takes {_shape(shape)}."
        )
    container = container_of(param.declared)
    direct = value.dtype == container.storage and not container.is_scaled
    if container.declared.name == "bf16" and value.dtype == container.natural:
        direct = True
    if direct and value.flags.c_contiguous and value.flags.writeable:
        return Slot(value, None, container)
    if not direct and value.dtype != container.natural and not container.is_scaled:
        warnings.warn(
            f"{what} has dtype {value.dtype} and is converted to {container.natural}.",
            DTypeWarning,
            stacklevel=4,
        )
    home = value if value.flags.writeable else None
    return Slot(container.pack(value, what), home, container)


def scalar_slot(param: Param, value: Any, position: int, name: str) -> Slot:
    """Check a scalar argument and put it into memory for C++.

    Raises:
        BoundaryError: no number.
    """
    if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        raise BoundaryError(
            f"Argument {position} ({name}) must be a number of type {param.declared}, "
            f"not {type(value).__name__}."
        )
    container = container_of(param.declared)
    if isinstance(param.declared, (Int, UInt, Index)) and not container.is_wide:
        bits = 64 if isinstance(param.declared, Index) else param.declared.bits
        memory = _wrapped(np.array([int(value)], dtype=object), container.storage, bits)
        return Slot(memory, None, container)
    kind = object if isinstance(value, (int, np.integer)) else np.float64
    packed = container.pack(np.array([value], dtype=kind), f"Argument {position} ({name})")
    return Slot(packed, None, container)


def empty_slot(param: Param) -> Slot:
    """Memory for a result."""
    container = container_of(param.declared)
    return Slot(np.zeros(param.shape or (1,), container.storage), None, container)


def result_value(param: Param, slot: Slot) -> Any:
    """A result as the CPU build returns it: a Python number, or an array of the natural type."""
    if not param.is_array:
        return slot.container.unpack_scalar(slot.memory)
    values = slot.container.unpack(slot.memory)
    return values.reshape(param.shape) if param.shape is not None else values


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) if shape else "() (a single value)"
