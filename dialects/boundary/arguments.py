"""The Python boundary: what a compiled top function takes and returns, in NumPy.

Every back end that can be called reads the same :class:`Signature` and binds a call with it, so
the rules (count, shape, layout, conversion, in-place results) are those of ``docs/cpu.md`` everywhere::

    call = signature.bind(args)       # BoundaryError names the argument and its declaration
    run(call.inputs, call.outputs)    # cells, see allo.dialects.boundary.storage
    return call.finish()              # writes in-place results back, gives the results
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from .._mlir import ir
from ..core.effects import EffectAnalysis
from ..core.locations import place_of
from ..core.signature import functions_of, signature_of
from ..diagnostics import (
    ArgumentCountError,
    BoundaryError,
    BuildError,
    DTypeError,
    DTypeWarning,
    SourcePlace,
)
from ..ranges.interval import INDEX_BITS, of_bits
from ..types import (
    AlloType,
    Block,
    Fixed,
    FixedPoint,
    Float,
    Index,
    Int,
    Struct,
    UInt,
    parse_type,
)
from .addresses import address_of
from .layouts import Layout, layouts_of
from .storage import (
    decode,
    empty_cells,
    encode,
    float_of,
    is_fixed,
    is_native,
    natural_dtype,
    to_python,
)
from .write_back import write_back


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument or result of a top function.

    Attributes:
        name: the user's name; a result is called ``result`` or ``result <i>``.
        dtype: the declared type.
        shape: extents, None where any is accepted; None as a whole for a scalar.
        place: where it is declared.
        written: whether a call may change it (arrays only).
        read: whether a call may look at what it holds before.
        layout: the order of its elements in memory, where it is not row-major.
        packed: whether no bits lie between its elements behind an AXI4 master.
    """

    name: str
    dtype: AlloType
    shape: tuple[int | None, ...] | None
    place: SourcePlace | None = None
    written: bool = False
    read: bool = True
    layout: Layout | None = None
    packed: bool = False

    @property
    def extents(self) -> tuple[int, ...]:
        """Those that it has in memory, 0 for one that is not known."""
        shape = tuple(extent or 0 for extent in self.shape or ())
        return shape if self.layout is None else self.layout.physical(shape)

    @property
    def declaration(self) -> str:
        """The declared type as text: ``i32[4, 8]``."""
        if self.shape is None:
            return self.dtype.name
        return f"{self.dtype.name}[{', '.join('...' if d is None else str(d) for d in self.shape)}]"


@dataclass(frozen=True, slots=True)
class Signature:
    """What the top function takes and returns.

    Attributes:
        defaults: the numbers that arguments have where a call leaves them out.
    """

    top: str
    arguments: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    place: SourcePlace | None = None
    defaults: Mapping[str, int | float] = field(default_factory=dict)

    def bind(self, values: Sequence[Any]) -> Call:
        """Check and convert the arguments of one call.

        Raises:
            BoundaryError: wrong count, kind, shape, layout or values, or a written array that overlaps
                another argument.
        """
        if len(values) != len(self.arguments):
            raise self._count_error(len(values))
        inputs = [
            _bind(self.top, parameter, value)
            for parameter, value in zip(self.arguments, values, strict=True)
        ]
        self._refuse_overlap(values)
        outputs = [empty_cells(_static(result), result.dtype) for result in self.results]
        return Call(self, tuple(values), inputs, outputs)

    def _refuse_overlap(self, values: Sequence[Any]) -> None:
        """Arguments may share memory only where the kernel writes none of it: targets differ in order."""
        if not any(p.written for p in self.arguments):
            return
        spans = sorted(
            (address := address_of(value), address + value.nbytes, position)
            for position, value in enumerate(values)
            if isinstance(value, np.ndarray) and value.shape and value.nbytes
        )
        reader = writer = (0, -1)
        for begin, end, position in spans:
            parameter = self.arguments[position]
            meets = max(reader, writer) if parameter.written else writer
            if begin < meets[0]:
                one, two = sorted((meets[1], position))
                written = [self.arguments[k].name for k in (one, two) if self.arguments[k].written]
                raise _fault(
                    self.top,
                    self.arguments[two],
                    f"the array shares memory with argument {self.arguments[one].name}, and the kernel "
                    f"writes {' and '.join(written)}.",
                    "pass a copy, or write the kernel with one argument for both.",
                )
            if parameter.written:
                writer = max(writer, (end, position))
            else:
                reader = max(reader, (end, position))

    def _count_error(self, got: int) -> ArgumentCountError:
        names = ", ".join(f"{p.name}: {p.declaration}" for p in self.arguments) or "nothing"
        return ArgumentCountError(
            f"# of input arguments mismatch, got {got} but expected {len(self.arguments)}.",
            self.place,
            help=f"{self.top} takes {names}.",
        )


@dataclass(slots=True)
class Call:
    """The cells of one call: ``inputs`` by argument, ``outputs`` by result."""

    signature: Signature
    values: tuple[Any, ...]
    inputs: list[np.ndarray]
    outputs: list[np.ndarray]

    def finish(self) -> Any:
        """Write changed arrays back into the caller's; give None, the result, or the list of them."""
        for parameter, value, cells in zip(
            self.signature.arguments, self.values, self.inputs, strict=True
        ):
            if parameter.layout is not None:
                cells = parameter.layout.unpack(cells, value.shape)
            if parameter.written and not _shares(value, cells):
                write_back(value, cells, parameter.dtype)
        results = [
            to_python(cells, result.dtype) if result.shape is None else decode(cells, result.dtype)
            for result, cells in zip(self.signature.results, self.outputs, strict=True)
        ]
        if not results:
            return None
        return results[0] if len(results) == 1 else results


def read_signature(module: ir.Module, top: str) -> Signature:
    """The signature of function ``top``, from its core IR.

    Raises:
        BuildError: when the module has no such function, or its attributes do not fit.
    """
    function = find_function(module, top)
    types = signature_of(function)
    effects = EffectAnalysis(module.operation).summary(top)
    place = place_of(function)
    block = function.regions[0].blocks[0]
    noted = layouts_of(function)
    layouts = {n: each for n, each in noted.items() if each.reorders}
    arguments = [
        Parameter(
            name or f"argument {position}",
            _declared(dtype, mlir_type),
            _shape(mlir_type, layouts.get(name)),
            place_of(block.arguments[position].location) or place,
            position in effects.arguments_written,
            position in effects.arguments_read,
            layouts.get(name),
            name in noted and noted[name].packed,
        )
        for position, (name, dtype, mlir_type) in enumerate(
            zip(types.names, types.declared, types.inputs, strict=True)
        )
    ]
    many = len(types.results) > 1
    results = [
        Parameter(
            f"result {i}" if many else "result", _declared(dtype, mlir_type), _shape(mlir_type)
        )
        for i, (dtype, mlir_type) in enumerate(zip(types.returned, types.results, strict=True))
    ]
    return Signature(top, tuple(arguments), tuple(results), place, types.defaults)


def find_function(module: ir.Module, name: str) -> ir.Operation:
    """The function ``name`` of a module.

    Raises:
        BuildError: when there is none; the message lists those there are.
    """
    functions = functions_of(module)
    if name in functions:
        return functions[name]
    raise BuildError(
        f"The module has no function {name!r}.",
        help=f"its functions: {', '.join(functions) or 'none'}.",
    )


def _shape(mlir_type: ir.Type, layout: Layout | None = None) -> tuple[int | None, ...] | None:
    if not isinstance(mlir_type, ir.MemRefType):
        return None
    if layout is not None:
        return layout.declared(mlir_type.shape)
    return tuple(
        None if mlir_type.is_dynamic_dim(i) else mlir_type.get_dim_size(i)
        for i in range(mlir_type.rank)
    )


def _declared(name: str, mlir_type: ir.Type) -> AlloType:
    if name:
        return parse_type(name)
    element = mlir_type.element_type if isinstance(mlir_type, ir.MemRefType) else mlir_type
    return parse_type(str(element))


def _static(result: Parameter) -> tuple[int, ...]:
    return tuple(extent or 0 for extent in result.shape or ())


def _shares(value: Any, cells: np.ndarray) -> bool:
    return isinstance(value, np.ndarray) and address_of(value) == address_of(cells)


def _bind(top: str, parameter: Parameter, value: Any) -> np.ndarray:
    bind = _bind_scalar if parameter.shape is None else _bind_array
    try:
        # What has no dimension may come as one of NumPy's scalars, which has no lasting address.
        cells = np.asarray(bind(top, parameter, value))
        return (
            cells if parameter.layout is None else parameter.layout.pack(cells, _static(parameter))
        )
    except DTypeError as error:
        raise _fault(top, parameter, error.message, error.help) from None
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, BoundaryError):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise _fault(
            top, parameter, f"{type(value).__name__} cannot be converted: {reason}."
        ) from error


def _fault(top: str, parameter: Parameter, problem: str, help: str | None = None) -> BoundaryError:
    return BoundaryError(
        f"Argument {parameter.name} of {top}, declared {parameter.declaration}: {problem}",
        parameter.place,
        help=help,
    )


def _bind_array(top: str, parameter: Parameter, value: Any) -> np.ndarray:
    shape = parameter.shape or ()
    if not isinstance(value, np.ndarray):
        raise _fault(
            top,
            parameter,
            f"expected a NumPy array, got {type(value).__name__}.",
            f"pass np.array(…, dtype={_dtype_text(parameter.dtype)}).",
        )
    if len(value.shape) != len(shape) or any(
        want is not None and want != got for want, got in zip(shape, value.shape, strict=True)
    ):
        raise _fault(
            top,
            parameter,
            f"got an array of shape {value.shape}.",
            "an array is passed whole: reshape it, or pass the part that is meant.",
        )
    if isinstance(value, np.ma.MaskedArray):
        raise _fault(
            top,
            parameter,
            "got a masked array, and a kernel knows no mask.",
            "pass its .data, or .filled(…) with a value for what is masked.",
        )
    if not value.flags.c_contiguous:
        raise _fault(
            top,
            parameter,
            "the input data is not contiguous.",
            "pass np.ascontiguousarray(…), and copy results back from it.",
        )
    if parameter.written and not value.flags.writeable:
        raise _fault(
            top,
            parameter,
            "the kernel writes this array, but it is read-only.",
            "pass a copy: array.copy() can be written.",
        )
    dtype = parameter.dtype
    if value.dtype == natural_dtype(dtype):
        if is_native(dtype) and value.flags.aligned:
            return value
    elif not is_fixed(dtype) and value.dtype.kind != "O":
        warnings.warn(
            f"Argument {parameter.name} of {top} is declared {parameter.declaration} but the array "
            f"holds {value.dtype}: it is converted.",
            DTypeWarning,
            stacklevel=5,
        )
    return encode(_meaningful(parameter, value), dtype)


def _meaningful(parameter: Parameter, value: np.ndarray) -> np.ndarray:
    """The array; 0 for what ``np.empty`` may hold in a fixed-point one that only takes results."""
    only_result = parameter.written and not parameter.read
    if not only_result or not is_fixed(parameter.dtype) or value.dtype.kind != "f":
        return value
    return np.where(np.isfinite(value), value, 0)


def _bind_scalar(top: str, parameter: Parameter, value: Any) -> np.ndarray:
    if isinstance(value, (np.generic, np.ndarray)) and value.shape == () and _is_number(value):
        value = value.item() if value.dtype.name != "bfloat16" else float(value)
    dtype = parameter.dtype
    if isinstance(dtype, Struct):
        return _bind_struct(top, parameter, value)
    if not isinstance(value, (int, float)):
        raise _fault(
            top,
            parameter,
            f"expected a number, got {type(value).__name__}.",
            "pass a Python or NumPy scalar.",
        )
    if isinstance(dtype, (Int, UInt, Index)) and isinstance(value, float):
        if not np.isfinite(value):
            raise _fault(top, parameter, f"{value} is not an integer.")
        if value != int(value):
            warnings.warn(
                f"Argument {parameter.name} of {top} is declared {dtype}: {value} becomes {int(value)}.",
                DTypeWarning,
                stacklevel=5,
            )
        value = int(value)
    if isinstance(dtype, Float):
        value = float_of(value)
        return encode(np.array(value, np.float64), dtype)
    _refuse_out_of_range(top, parameter, value)
    return encode(np.array(value, object), dtype)


def _refuse_out_of_range(top: str, parameter: Parameter, value: int | float) -> None:
    """A number that the type cannot hold; digits below its last one are cut."""
    dtype = parameter.dtype
    endless = isinstance(value, float) and not np.isfinite(value)
    if endless or (isinstance(dtype, FixedPoint) and dtype.overflow == "saturate"):
        return
    bits = INDEX_BITS if isinstance(dtype, Index) else dtype.bits
    signed = isinstance(dtype, (Int, Fixed, Index))
    least, most = of_bits(bits, signed=signed)
    most = max(most, 1)
    scaled = Fraction(value) * (1 << dtype.fracs)
    if not least - 1 < scaled < most + 1:
        scale = 1 << dtype.fracs
        shown = [n if scale == 1 else n / scale for n in (least, most)]
        raise _fault(
            top,
            parameter,
            f"{value} is out of range, which is {shown[0]} to {shown[1]}.",
            "pass a number of the range, or declare a wider type.",
        )


def _is_number(value: Any) -> bool:
    """Whether a NumPy scalar is one of Python's numbers under another name."""
    return value.dtype.kind in "biufO" or value.dtype.name == "bfloat16"


def _bind_struct(top: str, parameter: Parameter, value: Any) -> np.ndarray:
    """A dict of the fields, or a record of a NumPy structured array."""
    dtype = parameter.dtype
    assert isinstance(dtype, Struct)
    if isinstance(dtype, Block):
        return encode(np.asarray(value), dtype)
    names = value if isinstance(value, dict) else getattr(value, "dtype", np.dtype(int)).names or ()
    if set(names) != set(dtype.fields):
        raise _fault(
            top, parameter, f"{value!r} has not its fields.", f"give {', '.join(dtype.fields)}."
        )
    total = 0
    for name, kind in reversed(dtype.fields.items()):
        part = replace(parameter, name=f"{parameter.name}[{name!r}]", dtype=kind)
        cells = _bind(top, part, value[name])
        raw = int.from_bytes(cells.tobytes(), "little") & ((1 << kind.bits) - 1)
        total = total << kind.bits | raw
    return encode(np.array(total, object), UInt(dtype.bits))


def _dtype_text(dtype: AlloType) -> str:
    natural = natural_dtype(dtype)
    return f"get_np_struct_type({dtype.bits})" if natural.names else f"np.{natural.name}"
