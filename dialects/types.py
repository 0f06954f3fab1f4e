"""The data types of the language.

A type has a textual name (``i8``, ``ui16``, ``fixed(8, 3)``, ``f32``) by which the core IR
carries it in attributes, and an MLIR storage type (``i8``, ``i16``, ``i8``, ``f32``): MLIR
integers are signless, so the name is what keeps signedness and scale.
"""

from __future__ import annotations

import inspect
import operator
import re
import warnings
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from .diagnostics import DTypeError, DTypeWarning
from .text.annotations import ArrayAnnotation as ArrayAnnotation
from .text.annotations import Stateful as Stateful
from .text.shown import shown

MAX_BITS = 512
"""Wider types work, with a warning."""
MAX_WIDTH = (1 << 24) - 1
"""The widest integer of MLIR: a kernel with a wider type is refused."""

_WIDTHS = "Int(8) and UInt(8) have eight bits."

_INSIDE = (str(Path(__file__).parents[1]),)
"""Files of Allo: a warning stands at the user's line."""


class _Formed(type):
    """Calls of the types: arguments that a type does not take are a ``DTypeError`` as well."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except TypeError as error:
            takes = str(inspect.signature(cls.__init__)).replace("(self, ", "(", 1)
            reason = f"No type is formed by {cls.__name__} so: {error}."
            raise DTypeError(reason, help=f"it takes {takes.partition(' ->')[0]}.") from None


class AlloType(metaclass=_Formed):
    """The root of all data types: immutable, equal and hashed by name.

    Attributes:
        bits: total width in bits.
        fracs: fraction bits: of fixed point, and stored ones of a float; 0 for anything else.
        name: the textual name.
    """

    bits: int
    fracs: int
    name: str
    stateful: Any = False
    constexpr: Any = False

    def __init__(self, bits: int, fracs: int, name: str) -> None:
        if isinstance(bits, bool) or not isinstance(bits, int):
            raise DTypeError(f"The width of a type must be an integer, not {bits!r}.", help=_WIDTHS)
        if isinstance(fracs, bool) or not isinstance(fracs, int):
            raise DTypeError(f"The fraction width must be an integer, not {fracs!r}.")
        if bits <= 0:
            raise DTypeError(f"The width of a type must be positive, not {bits}.", help=_WIDTHS)
        if not 0 <= fracs <= 255:
            raise DTypeError(f"The fraction width must lie in 0 … 255, not {fracs}.")
        if bits > MAX_BITS and not isinstance(self, Struct | Stream):
            warnings.warn(
                f"{name} is wider than {MAX_BITS} bits: it runs on every target, but its products "
                "and quotients take long to compile and much hardware.",
                DTypeWarning,
                skip_file_prefixes=_INSIDE,
            )
        self.bits = bits
        self.fracs = fracs
        self.name = name

    @staticmethod
    def isinstance(value: object) -> bool:
        """Whether a value is a type of the language."""
        return isinstance(value, AlloType)

    @property
    def mlir_name(self) -> str:
        """The MLIR type that stores a value: ``i8``, ``f32``, ``index``."""
        return f"i{self.bits}"

    def __getitem__(self, shape: Any) -> ArrayAnnotation:
        return ArrayAnnotation(self, shape if isinstance(shape, tuple) else (shape,))

    def __matmul__(self, decoration: object) -> ArrayAnnotation:
        return ArrayAnnotation(self, (), (decoration,))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AlloType)
            and self.name == other.name
            and self.stateful == other.stateful
        )

    def __hash__(self) -> int:
        return hash((self.name, self.stateful))

    def __repr__(self) -> str:
        return self.name


def as_type(value: object) -> AlloType | None:
    """The type a value stands for, Python's own ``int``, ``float`` and ``bool`` included; else None."""
    if isinstance(value, AlloType):
        return value
    name = _OF_PYTHON.get(value) if isinstance(value, type) else None
    return parse_type(name) if name else None


_OF_PYTHON: dict[object, str] = {bool: "ui1", int: "i32", float: "f32"}


class Int(AlloType):
    """A signed integer in two's complement of any width."""

    def __init__(self, bits: int) -> None:
        super().__init__(bits, 0, f"i{bits}")

    @staticmethod
    def isinstance(value: object) -> bool:
        """Whether a value is such a type, or a Python integer other than True and False."""
        return isinstance(value, Int) or (isinstance(value, int) and not isinstance(value, bool))


class UInt(AlloType):
    """An unsigned integer of any width."""

    def __init__(self, bits: int) -> None:
        super().__init__(bits, 0, f"ui{bits}")

    @staticmethod
    def isinstance(value: object) -> bool:
        """Whether a value is such a type, or a Python integer that is not negative."""
        return isinstance(value, UInt) or (isinstance(value, int) and value >= 0)


class Index(AlloType):
    """The type of loop iterators: 32-bit unsigned in the typing rules, ``index`` in the IR."""

    def __init__(self) -> None:
        super().__init__(32, 0, "index")

    @property
    def mlir_name(self) -> str:
        """The MLIR type that stores a value: always ``index``."""
        return "index"

    @staticmethod
    def isinstance(value: object) -> bool:
        """Whether a value is this type, or a Python integer."""
        return isinstance(value, (Index, int))


ROUNDINGS = ("truncate", "nearest", "convergent")
OVERFLOWS = ("wrap", "saturate")


class FixedPoint(AlloType):
    """What signed and unsigned fixed point share.

    Attributes:
        rounding: what becomes of digits below the last one when a value is converted to the type:
            ``"truncate"`` (of a float toward zero, else down), ``"nearest"`` (halves up) or
            ``"convergent"`` (halves to even).
        overflow: what becomes of a value outside the range: ``"wrap"`` or ``"saturate"``.
    """

    _word = ""

    def __init__(
        self, bits: int, fracs: int, rounding: str = "truncate", overflow: str = "wrap"
    ) -> None:
        for what, given, known in (
            ("rounding", rounding, ROUNDINGS),
            ("overflow", overflow, OVERFLOWS),
        ):
            if given not in known:
                raise DTypeError(
                    f"The {what} of fixed point is {' or '.join(known)}, not {shown(given)}.",
                    help=f'write {what}="{known[1]}".',
                )
        modes = "" if (rounding, overflow) == ("truncate", "wrap") else f", {rounding}, {overflow}"
        super().__init__(bits, fracs, f"{self._word}({bits}, {fracs}{modes})")
        self.rounding = rounding
        self.overflow = overflow

    @property
    def has_modes(self) -> bool:
        """Whether a conversion to the type rounds or saturates."""
        return (self.rounding, self.overflow) != ("truncate", "wrap")


class Fixed(FixedPoint):
    """Signed fixed point: ``bits`` in all, ``fracs`` of them fraction."""

    _word = "fixed"

    @staticmethod
    def isinstance(value: object) -> bool:
        """Whether a value is such a type."""
        return isinstance(value, Fixed)


class UFixed(FixedPoint):
    """Unsigned fixed point: ``bits`` in all, ``fracs`` of them fraction."""

    _word = "ufixed"

    @staticmethod
    def isinstance(value: object) -> bool:
        """Whether a value is such a type."""
        return isinstance(value, UFixed)


class Float(AlloType):
    """An IEEE-754 binary format, or bfloat16.

    Attributes:
        mantissa, fracs: stored mantissa bits.
        exponent: exponent bits.
    """

    _FORMATS = {16: (5, 10), 32: (8, 23), 64: (11, 52)}

    def __init__(self, bits: int, mantissa: int | None = None, name: str | None = None) -> None:
        if bits not in self._FORMATS:
            raise DTypeError(f"A float is 16, 32 or 64 bits wide, not {bits}.")
        exponent, default = self._FORMATS[bits]
        self.mantissa = default if mantissa is None else mantissa
        super().__init__(bits, self.mantissa, name or f"f{bits}")
        self.exponent = exponent if mantissa is None else bits - 1 - mantissa

    @property
    def mlir_name(self) -> str:
        """The MLIR type that stores a value: ``f32``, ``bf16``."""
        return self.name

    @staticmethod
    def isinstance(value: object) -> bool:
        """Whether a value is such a type, or a Python float."""
        return isinstance(value, (Float, float))


class Struct(AlloType):
    """Named fields side by side; the first field has the lowest bits."""

    def __init__(self, fields: Mapping[str, AlloType]) -> None:
        if not fields:
            raise DTypeError(
                "A Struct needs at least one field.",
                help='write Struct({"x": int32, "y": float32}).',
            )
        types = (
            {n: _field_type(t) for n, t in fields.items()} if isinstance(fields, Mapping) else {}
        )
        self.fields = {n: t for n, t in types.items() if isinstance(n, str) and t is not None}
        if len(self.fields) < len(types) or not types:
            raise DTypeError(
                f"The fields of a Struct are a dict from names to types, not {shown(fields)}.",
                help='write Struct({"x": int32, "y": float32}).',
            )
        body = ", ".join(f"{key}: {value.name}" for key, value in self.fields.items())
        super().__init__(sum(t.bits for t in self.fields.values()), 0, f"struct<{body}>")

    def __getattr__(self, key: str) -> AlloType:
        fields: dict[str, AlloType] = self.__dict__.get("fields", {})
        if key in fields:
            return fields[key]
        raise AttributeError(key)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.fields:
            known = ", ".join(self.fields)
            raise DTypeError(f"The Struct has no field {key!r}.", help=f"its fields: {known}.")
        return self.fields[key]


def bits_type(bits: int) -> UInt:
    """The type of bits that nothing computes with: of any width without a warning."""
    made = UInt.__new__(UInt)
    made.bits, made.fracs, made.name = bits, 0, f"ui{bits}"
    return made


class Block(Struct):
    """An array as a field of a Struct: one field for each element, named by its number.

    Attributes:
        element: the type of an element.
        shape: the extents; elements lie row by row, the first in the lowest bits.
    """

    def __init__(self, element: AlloType, shape: tuple[int, ...]) -> None:
        super().__init__({str(number): element for number in range(prod(shape))})
        self.element = element
        self.shape = shape
        self.name = "x".join([*map(str, shape), element.name])


def _field_type(kind: object) -> AlloType | None:
    """The type of a field; None for what is none, as an array of no fixed extents."""
    if not isinstance(kind, ArrayAnnotation):
        return as_type(kind)
    extents = [operator.index(e) for e in kind.shape if hasattr(e, "__index__")]
    element = as_type(kind.dtype)
    fixed = len(extents) == len(kind.shape) and all(extent > 0 for extent in extents)
    if not fixed or element is None or kind.decorations:
        return None
    return Block(element, tuple(extents)) if extents else element


class Stream(AlloType):
    """A FIFO of ``depth`` elements of ``dtype``, or of blocks of ``shape``.

    Written ``Stream[T, depth]``, ``Stream[T[4, 4], depth]``; an array of FIFOs
    is ``Stream[T, depth][P0, P1]``.
    """

    def __init__(self, dtype: AlloType, shape: tuple[int, ...] = (), depth: int = 2) -> None:
        carried = as_type(dtype)
        if carried is None:
            raise DTypeError(f"A Stream carries a type, not {shown(dtype)}.")
        self.dtype = dtype = carried
        self.shape = tuple(shape)
        self.depth = depth
        super().__init__(dtype.bits, dtype.fracs, f"stream<{self.element}, {depth}>")

    @property
    def element(self) -> str:
        """What one put passes on, as text: ``f32``, or ``4x4xf32`` for a block."""
        return "x".join([*(str(d) for d in self.shape), self.dtype.name])

    def __class_getitem__(cls, item: Any) -> Stream:
        if not isinstance(item, tuple) or len(item) != 2:
            raise DTypeError("A Stream takes an element type and a depth: Stream[int32, 4].")
        element, depth = item
        if isinstance(element, ArrayAnnotation):
            return cls(element.dtype, element.shape, depth)
        return cls(element, (), depth)


class ConstExpr:
    """``ConstExpr[int32]``: a scalar whose value is computed while compiling."""

    def __class_getitem__(cls, base: AlloType) -> AlloType:
        found = as_type(base)
        if found is None:
            raise DTypeError(f"ConstExpr takes a type, not {shown(base)}.", help="ConstExpr[int32]")
        return _marked(found, constexpr=True)


def _marked(base: AlloType, **flags: bool) -> AlloType:
    copy = object.__new__(type(base))
    copy.__dict__.update(base.__dict__)
    copy.__dict__.update(flags)
    return copy


_INT = re.compile(r"(u?i)(\d+)\Z")
_FIXED = re.compile(r"(u?fixed)\((\d+),\s*(\d+)(?:, (\w+), (\w+))?\)\Z")
_STREAM = re.compile(r"stream<((?:\d+x)*)(.*),\s*(\d+)>\Z")
_BLOCK = re.compile(r"((?:\d+x)+)(.*)\Z")
_STRUCT = re.compile(r"struct<(.*)>\Z")


def parse_type(name: str) -> AlloType:
    """The type a textual name stands for; the inverse of ``type.name``.

    Raises:
        DTypeError: when the name stands for no type.
    """
    simple = _NAMED.get(name)
    if simple is not None:
        return simple
    if match := _INT.match(name):
        return (Int if match[1] == "i" else UInt)(int(match[2]))
    if match := _FIXED.match(name):
        modes = [mode for mode in match.groups()[3:] if mode is not None]
        kind = Fixed if match[1] == "fixed" else UFixed
        return kind(int(match[2]), int(match[3]), *modes)
    if match := _STREAM.match(name):
        shape = tuple(int(d) for d in match[1].split("x") if d)
        return Stream(parse_type(match[2]), shape, int(match[3]))
    if match := _BLOCK.match(name):
        return Block(parse_type(match[2]), tuple(int(d) for d in match[1].split("x") if d))
    if match := _STRUCT.match(name):
        return Struct({k: parse_type(v) for k, v in _struct_fields(match[1])})
    raise DTypeError(f"{name!r} names no data type.")


def parse_stream(element: str, depth: int) -> Stream:
    """The stream of ``element``, given as text (``4x4xf32``).

    Raises:
        DTypeError: when the text stands for no element, or the depth is negative.
    """
    parsed = parse_type(f"stream<{element}, {depth}>")
    if not isinstance(parsed, Stream) or isinstance(parsed.dtype, Stream):
        raise DTypeError(f"{element!r} names no element of a stream.")
    return parsed


def _struct_fields(body: str) -> list[tuple[str, str]]:
    parts, depth, start = [], 0, 0
    for position, char in enumerate(body):
        depth += (char in "(<") - (char in ")>")
        if char == "," and depth == 0:
            parts.append(body[start:position])
            start = position + 1
    parts.append(body[start:])
    return [(k.strip(), v.strip()) for k, v in (part.split(":", 1) for part in parts)]


def signedness_letter(dtype: AlloType) -> str:
    """The letter of ``itypes``/``otypes``: ``s`` signed, ``u`` unsigned, ``_`` anything else."""
    if isinstance(dtype, (Int, Fixed)):
        return "s"
    if isinstance(dtype, (UInt, UFixed)):
        return "u"
    return "_"


int1, int2, int3, int4 = Int(1), Int(2), Int(3), Int(4)
int5, int6, int7, int8 = Int(5), Int(6), Int(7), Int(8)
int9, int10, int11, int12 = Int(9), Int(10), Int(11), Int(12)
int13, int14, int15, int16 = Int(13), Int(14), Int(15), Int(16)
int32, int64, int128, int256, int512 = Int(32), Int(64), Int(128), Int(256), Int(512)
uint1, uint2, uint3, uint4 = UInt(1), UInt(2), UInt(3), UInt(4)
uint5, uint6, uint7, uint8 = UInt(5), UInt(6), UInt(7), UInt(8)
uint9, uint10, uint11, uint12 = UInt(9), UInt(10), UInt(11), UInt(12)
uint13, uint14, uint15, uint16 = UInt(13), UInt(14), UInt(15), UInt(16)
uint32, uint64, uint128, uint256, uint512 = UInt(32), UInt(64), UInt(128), UInt(256), UInt(512)
index = Index()
float16, float32, float64 = Float(16), Float(32), Float(64)
bfloat16 = Float(16, 7, "bf16")

_NAMED: dict[str, AlloType] = {t.name: t for t in (index, float16, float32, float64, bfloat16)}
