"""Element types: PyTorch's, and those that ``op_dtypes`` asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import allo.ir.types as known
from allo.dialects.diagnostics import DTypeError, ModelError
from allo.dialects.text.shown import shown
from allo.dialects.types import AlloType, Fixed, Float, Int, UFixed, UInt, parse_type

from .graph import Operator

_OF_TORCH = {
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "uint8": "uint8",
    "int4": "int4",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "bool": "uint1",
}
TYPE_NAMES = frozenset(_OF_TORCH.values())
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_INTEGERS = TYPE_NAMES - FLOATS
_GROUPS = ("inputs", "outputs", "default")


_NUMBERS = (Int, UInt, Fixed, UFixed, Float)
_INTEGER = re.compile(r"u?int[1-9]\d*")
_SIZED = re.compile(r"(u?i)nt\((\d+)\)")


def _named(value: Any) -> Any:
    """The type that a name as users write it stands for; what is no such name stays."""
    if not isinstance(value, str):
        return value
    found = getattr(known, value, None)
    if isinstance(found, AlloType):
        return found
    try:
        return parse_type(_SIZED.sub(r"\1\2", value.lower()))
    except DTypeError:
        return value


class Types:
    """The spellings of element types in the generated text.

    Args:
        wanted: ``op_dtypes``: a type for each of ``"inputs"``, ``"outputs"``, ``"default"``, an operator
            (``"linear"``, ``"linear_input"``, ``"linear_weight"``) or a module path; or
            ``[input, weight, output]``. A type may be its name, as a string.
        names: what may be a key beside the groups: operators and module paths.

    Raises:
        ModelError: a key that names nothing, or a value that is no type.
    """

    def __init__(self, wanted: Mapping[str, Any] | None, names: Collection[str]) -> None:
        self.namespace: dict[str, Any] = {}
        self._spelled: dict[str, str] = {}
        self._wanted = {key: self._read(key, value, names) for key, value in (wanted or {}).items()}

    def of_torch(self, dtype: str) -> str:
        """The spelling of one of PyTorch's types, or of an integer type of any width (``"int13"``).

        Raises:
            DTypeError: for a type that kernels do not have.
        """
        name = _OF_TORCH.get(dtype)
        if name is None and _INTEGER.fullmatch(dtype):
            self.namespace[dtype] = parse_type(dtype.replace("nt", ""))
            return dtype
        if name is None:
            raise DTypeError(
                f"There is no element type for tensors of torch.{dtype}.",
                help=f"convert the tensor to one of {', '.join(_OF_TORCH)}.",
            )
        self.namespace[name] = getattr(known, name)
        return name

    def input(self, dtype: str) -> str:
        """The type of an input of the model; that of a float can be chosen."""
        return self._chosen(dtype, ["inputs", "default"], 2)

    def output(self, spelled: str) -> str | None:
        """The type that results of the model shall have, or None where nothing is asked."""
        is_float = spelled not in _INTEGERS
        return self._wanted["outputs"][2] if is_float and "outputs" in self._wanted else None

    def result(self, op: Operator, dtype: str) -> str:
        """The type of an operator's result."""
        return self._chosen(dtype, [op.name, op.path, op.kind, "default"], 2)

    def operand(self, op: Operator, dtype: str) -> str | None:
        """The type to which the operand is converted, or None to take it as it is."""
        return self._asked(dtype, [op.name, op.path, f"{op.kind}_input"], op.kind, 0)

    def weight(self, op: Operator, dtype: str) -> str:
        """The type of a weight."""
        keys = [op.name, op.path, f"{op.kind}_weight"]
        asked = self._asked(dtype, keys, op.kind, 1)
        return asked or self._chosen(dtype, [op.kind, "default"], 1)

    def _chosen(self, dtype: str, keys: Sequence[str], position: int) -> str:
        for key in keys:
            if dtype in FLOATS and key in self._wanted:
                return self._wanted[key][position]
        return self.of_torch(dtype)

    def _asked(self, dtype: str, keys: Sequence[str], kind: str, position: int) -> str | None:
        """The type that one of the keys asks for, or the operator's own where it names all three."""
        if dtype in _INTEGERS:
            return None
        found = next((self._wanted[key] for key in keys if key in self._wanted), None)
        if found is None and len(set(self._wanted.get(kind, ()))) > 1:
            found = self._wanted[kind]
        return found[position] if found else None

    def _read(self, key: str, value: Any, names: Collection[str]) -> tuple[str, str, str]:
        stem = key.removesuffix("_input").removesuffix("_weight")
        if key not in _GROUPS and key not in names and stem not in names:
            raise ModelError(
                f"op_dtypes has the key {key!r}, which names no operator and no module of the model.",
                help=f"keys are {', '.join(_GROUPS)} and, of this model, {', '.join(sorted(names))}.",
            )
        parts = list(value) if isinstance(value, (list, tuple)) else [value] * 3
        parts = [_named(part) for part in parts]
        if len(parts) != 3 or not all(isinstance(part, _NUMBERS) for part in parts):
            raise ModelError(
                f"op_dtypes[{key!r}] is {shown(value)}, and no type.",
                help='give a type such as float16, its name as in "float16" or "Fixed(16, 8)", '
                "or [input, weight, output].",
            )
        return (self._spell(parts[0]), self._spell(parts[1]), self._spell(parts[2]))

    def _spell(self, dtype: AlloType) -> str:
        known_name = next((n for n in _OF_TORCH.values() if getattr(known, n) == dtype), None)
        if known_name:
            self.namespace[known_name] = dtype
            return known_name
        name = self._spelled.setdefault(dtype.name, f"type_{len(self._spelled)}")
        self.namespace[name] = dtype
        return name
