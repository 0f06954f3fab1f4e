"""HGQ2's quantisers as nodes of a QONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.dialects.types import Fixed, UFixed

from ....reading import Array
from ..writing import Writer
from .packages import array

_PORTS = {"RND": "nearest", "RND_CONV": "convergent"}
"""Rounding modes of HGQ2 that a type of Allo has."""


class HgqWriter(Writer):
    """The nodes of a network of HGQ2.

    Attributes:
        names: of the tensors of Keras, by their identity.
        ports: sign, integer and fraction bits and rounding of each quantiser of an input that wraps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[int, str] = {}
        self.ports: list[tuple[int, int, int, str]] = []

    def begun(self, layer: Any, name: str, place: int = 0) -> str:
        """An input of a layer behind its quantiser of inputs, where it has one."""
        if not getattr(layer, "enable_iq", False):
            return name
        quantiser = layer.iq[place] if hasattr(layer.iq, "__getitem__") else layer.iq
        return self.quantised(name, quantiser, self.shapes[place])

    def ended(self, layer: Any, name: str) -> str:
        """The result of a layer behind its activation and its quantiser of results."""
        name = self.bent(layer, name, getattr(layer, "activation", None))
        if not getattr(layer, "enable_oq", False):
            return name
        return self.quantised(name, layer.oq, self.shape)

    def quantised(self, name: str, quantiser: Any, shape: tuple[Any, ...]) -> str:
        """A tensor behind a quantiser of HGQ2.

        Args:
            name: of the tensor.
            quantiser: an ``hgq.quantizer.Quantizer``.
            shape: of the tensor.

        Raises:
            UnsupportedOperatorError: floats, a scaler, or a mode that is not supported.
        """
        self.quantisers += 1
        inner = quantiser.quantizer
        kind = type(inner).__name__
        if kind == "DummyQuantizer":
            return name
        if (
            not hasattr(inner, "kif")
            or quantiser.scaler is not None
            or quantiser.affine is not None
        ):
            raise self.refusal(
                self.layer,
                f"with a quantiser {kind}, or one that scales",
                "q_type='kif' or 'kbi' is supported.",
            )
        rounding, overflow = inner.round_mode.removeprefix("S_"), inner.overflow_mode
        k, i, f = self._bits(inner, shape)
        i = np.maximum(i, -f)
        live = k + i + f > 0
        if not live.any():
            return self("Mul", name, 0.0)
        self._port(name, (k, i, f), live, rounding, overflow)
        if overflow in ("SAT", "SAT_SYM"):
            most = 2.0**i - 2.0**-f
            least = -k * (most if overflow == "SAT_SYM" else 2.0**i)
            name = self("Min", self("Max", name, least), most)
        elif overflow != "WRAP":
            raise self.refusal(
                self.layer,
                f"with overflow_mode {overflow!r}",
                "WRAP, SAT and SAT_SYM are supported.",
            )
        name = self("Mul", self._rounded(self("Mul", name, 2.0**f), rounding), 2.0**-f)
        if overflow == "WRAP":
            name = self._wrapped(name, k, i)
        if not live.all():
            name = self("Mul", name, live.astype(np.float32))
        fine = float(f[live].max())
        width = int((i + k)[live].max() + fine)
        signed = int(k.max() > 0)
        return self(
            "Quant",
            name,
            2.0**-fine,
            0.0,
            float(width),
            signed=signed,
            narrow=0,
            rounding_mode="ROUND",
        )

    def _bits(self, inner: Any, shape: tuple[Any, ...]) -> tuple[Array, Array, Array]:
        """Sign, integer and fraction bits of each element, in as few elements as say it."""
        whole = (1, *shape[1:])
        found = []
        for bits in inner.kif:
            each = array(inner.bw_mapper.bw_to_x(bits, whole)).astype(np.float64)
            found.append(each if each.size > 1 else each.reshape((1,) * len(whole)))
        return found[0], found[1], found[2]

    def _rounded(self, name: str, rounding: str) -> str:
        if rounding == "RND":  # halves up
            return self("Floor", self("Add", name, 0.5))
        if rounding == "RND_CONV":
            return self("Round", name)
        if rounding == "TRN":
            return self("Floor", name)
        raise self.refusal(
            self.layer, f"with round_mode {rounding!r}", "RND, RND_CONV and TRN are supported."
        )

    def _wrapped(self, name: str, k: Array, i: Array) -> str:
        """``x`` less the multiples of ``2 ** (i + k)`` that are in ``x + bias``."""
        span = 2.0 ** (i + k)
        turns = self("Floor", self("Mul", self("Add", name, k * span / 2), 1 / span))
        return self("Sub", name, self("Mul", turns, span))

    def _port(
        self, name: str, kif: tuple[Array, Array, Array], live: Array, rounding: str, overflow: str
    ) -> None:
        """Note the fixed point of an input that wraps, and how its quantiser rounds."""
        if overflow != "WRAP" or name not in {value.name for value in self.inputs}:
            return
        k, i, f = (bits[live] for bits in np.broadcast_arrays(*kif)) if live.size > 1 else kif
        ranges = (int(k.max()), int(i.max()), int(f.max()))
        self.ports.append((*ranges, _PORTS.get(rounding, "truncate")))

    @property
    def port(self) -> Fixed | UFixed | None:
        """The type of the inputs, where a quantiser of theirs wraps: the widest of all of these."""
        if not self.ports:
            return None
        signs, wholes, parts, roundings = zip(*self.ports, strict=True)
        signed, whole, fracs = max(signs), max(wholes), max(parts)
        made = Fixed if signed else UFixed
        return made(signed + whole + fracs, fracs, rounding=roundings[0])
