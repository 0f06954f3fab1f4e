"""The models of ``designs/llm`` in NumPy's functions, computed on a GPU by CuPy, which has the same ones.

CuPy evaluates each function by itself, so a product and a sum stay two roundings, and its matrix products of
whole numbers in float64 are exact. So integer models give the bits that they give with NumPy; a caller
compares some.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from allo import bitexact
from allo.designs.llm.checkpoints import blocks, float_model, integer_model
from allo.designs.llm.network import reference
from allo.designs.llm.wide import reference as wide_reference
from allo.designs.llm.wide.block import reference as rows_reference
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows
from allo.designs.llm.wide.external import nibble_cache

MODULES = (
    bitexact,
    blocks,
    float_model,
    integer_model,
    reference,
    wide_reference,
    rows_reference,
    nibble_cache,
)
"""Whose functions compute a model."""


class _Functions:
    """CuPy's functions, of which one takes numbers of arrays as NumPy's does."""

    def __init__(self, package: Any) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        return getattr(self._package, name)

    def arange(self, *ends: Any, **how: Any) -> Any:
        """Whole numbers up to an end, which may be an array's."""
        return self._package.arange(*(int(end) for end in ends), **how)


@dataclass(slots=True)
class Device:
    """Where a model is computed: the processor by NumPy, or a GPU by CuPy.

    Attributes:
        batch: windows at once.
        arrays: the functions on arrays.
    """

    gpu: bool
    batch: int = field(init=False)
    arrays: Any = field(init=False)

    def __post_init__(self) -> None:
        self.batch, self.arrays = 1, np
        if not self.gpu:
            return
        import cupy

        self.batch, self.arrays = 8, _Functions(cupy)
        for module in MODULES:
            module.np = self.arrays  # type: ignore[attr-defined]

    def put(self, values: np.ndarray) -> Any:
        """An array on the device."""
        return self.arrays.asarray(values)

    def put_all(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """Arrays on the device, by their names."""
        return {name: self.put(values) for name, values in arrays.items()}

    def back(self, values: Any) -> np.ndarray:
        """An array of the device for NumPy."""
        return self.arrays.asnumpy(values) if self.gpu else np.asarray(values)


@dataclass(slots=True)
class RowsOnDevice:
    """A model of rows whose steps a device computes, between NumPy's rows and NumPy's logits.

    Attributes:
        hidden: what the last step ended in.
    """

    device: Device
    model: RowsGPT
    hidden: np.ndarray = field(init=False)

    def step(self, rows: Rows, spoken: int = 1) -> np.ndarray:
        """The logits after the last rows.

        Raises:
            PositionError: the accelerator does not take these rows.
        """
        put = self.device.put
        parts = (getattr(rows, of.name) for of in fields(Rows))
        moved = Rows(*(None if part is None else put(part) for part in parts))
        logits = self.device.back(self.model.step(moved, spoken))
        self.hidden = self.device.back(self.model.hidden)
        return logits
