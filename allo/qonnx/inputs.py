"""The types of inputs: float32 as in the file, or integers and fixed point, exact from there on."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError
from allo.dialects.text.shown import shown
from allo.dialects.types import AlloType, Fixed, Int, UFixed, UInt
from allo.models.graph import Meta, Model, Ref

from .convert import Converter
from .reading import Array
from .values import Affine, Floats, Function, Levels

InputType = AlloType | tuple[AlloType, float]
_WIDEST = 24


def define_input(
    converter: Converter,
    name: str,
    shape: tuple[int, ...],
    given: InputType | None,
) -> None:
    """Make an input of the model known, of the type that is wanted.

    Raises:
        ModelError: a type that gives no integers, or wider ones than float32 holds.
    """
    made = converter.made
    if given is None:
        made.inputs[name] = Meta(shape, "float32")
        converter.names.add(name)
        converter.values[name] = Function(Floats(name, shape))
        return
    dtype, unit = _grid(given)
    signed = isinstance(dtype, (Fixed, Int))
    low, high = (
        (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1)
        if signed
        else (0, (1 << dtype.bits) - 1)
    )
    levels = Levels(name, shape, low, high)
    if isinstance(dtype, (Fixed, UFixed)):
        made.inputs[name] = Meta(shape, "float32")
        args = {"input": Ref(name), "type": dtype}
        bits = converter.emit(None, "levels.bits", args, Meta(shape, levels.dtype), f"{name}_bits")
        levels = Levels(bits, shape, low, high)
    else:
        made.inputs[name] = Meta(shape, levels.dtype)
        converter.names.add(name)
    ones = np.ones((1,) * len(shape))
    converter.define(name, levels, Affine(unit * ones, 0 * ones))


def _grid(given: Any) -> tuple[AlloType, float]:
    """The type, and what its unit stands for."""
    dtype, unit = _read(given)
    if dtype.bits > _WIDEST:
        raise ModelError(
            f"input_type is {shown(dtype)}, and qonnx computes in float32, which holds {_WIDEST} bits.",
            help=f"give a type of at most {_WIDEST} bits.",
        )
    return dtype, unit


def _read(given: Any) -> tuple[AlloType, float]:
    if isinstance(given, (Fixed, UFixed)):
        return given, 2.0**-given.fracs
    if isinstance(given, (Int, UInt)):
        return given, 1.0
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], (Int, UInt)):
        unit = float(given[1])
        if unit > 0 and np.isfinite(unit):
            return given[0], unit
    raise ModelError(
        f"input_type is {shown(given)}, which gives no integers.",
        help="give Fixed(16, 10), an integer type such as uint8, or one with its unit: (int8, 1 / 128).",
    )


def wanted(given: Any) -> dict[str, Any] | None:
    """The element types that the lowering shall take for inputs."""
    return {"inputs": given} if isinstance(given, (Fixed, UFixed)) else None


def examples(made: Model, given: Any) -> list[Array]:
    """One random input."""
    random = np.random.default_rng(0)
    found = []
    for meta in made.inputs.values():
        if meta.dtype == "float32":
            array = random.standard_normal(meta.shape).astype(np.float32)
            if given is not None:
                dtype, unit = _grid(given)
                half = 1 << (dtype.bits - 1)
                levels = random.integers(-half if isinstance(dtype, Fixed) else 0, half, meta.shape)
                array = (levels * unit).astype(np.float32)
        else:
            bits = int(meta.dtype.strip("uint"))
            low = 0 if meta.dtype[0] == "u" else -(1 << (bits - 1))
            size = next(n for n in (8, 16, 32, 64) if n >= bits)
            kind = f"{'u' if meta.dtype[0] == 'u' else ''}int{size}"
            array = random.integers(low, low + (1 << bits), meta.shape).astype(kind)
        found.append(array)
    return found
