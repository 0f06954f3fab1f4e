"""Devices, transformers and number formats of the analytical model, read from data files."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from allo.errors import AlloError

DATA = Path(__file__).parents[1] / "data"


class ModelInputError(AlloError, ValueError):
    """A device, transformer, format, length or parallelism the analytical model cannot take."""


@dataclass(frozen=True, slots=True)
class Transformer:
    """A decoder or encoder stack.

    Attributes:
        layers: N. heads: attention heads. hidden: d. ffn: d_F. longest: l_max, in tokens.
        vocab: tokens of the logits; 0 for a stack without them.
        kv_heads: heads of keys and values, which groups of queries share; 0 for as many as ``heads``.
        gated: the feed-forward layer has a gate as wide as it (SwiGLU).
        encoder: it reads a whole sequence at once, and makes no tokens.
    """

    name: str
    title: str
    layers: int
    heads: int
    hidden: int
    ffn: int
    longest: int
    vocab: int = 0
    kv_heads: int = 0
    gated: bool = False
    encoder: bool = False

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "hidden", "ffn", "longest"):
            require_positive(f"{name} of {self.name}", getattr(self, name))
        if self.hidden % self.heads:
            raise ModelInputError(
                f"The hidden width {self.hidden} of {self.name} is not a multiple of its "
                f"{self.heads} heads."
            )
        if self.heads % (self.kv_heads or self.heads):
            raise ModelInputError(
                f"The {self.heads} heads of {self.name} are not a multiple of its "
                f"{self.kv_heads} heads of keys and values."
            )

    @property
    def head_width(self) -> int:
        """The width of one head."""
        return self.hidden // self.heads

    @property
    def kv_width(self) -> int:
        """The width of all keys of a token, d where every head has its own."""
        return self.head_width * (self.kv_heads or self.heads)


@dataclass(frozen=True, slots=True)
class Format:
    """Bits of a weight (b_W) and of an activation (b_A): W4A8 is ``Format(4, 8)``."""

    weight_bits: int
    activation_bits: int

    def __post_init__(self) -> None:
        require_positive("The number of weight bits", self.weight_bits)
        require_positive("The number of activation bits", self.activation_bits)

    def __str__(self) -> str:
        return f"W{self.weight_bits}A{self.activation_bits}"


@dataclass(frozen=True, slots=True)
class Fpga:
    """An FPGA card; see the head of ``data/devices.toml`` for the units."""

    name: str
    title: str
    clock_mhz: float
    dsp: int
    products_per_dsp: int
    bram18: int
    uram: int
    sram_mb: float
    dram_gb: float
    dram_gbs: float
    channels: int
    power_w: float
    hard_blocks: int = 0
    macs_per_hard_block: int = 0
    hard_clock_mhz: float = 0.0
    lut: int = 0
    ff: int = 0

    def __post_init__(self) -> None:
        for name in ("clock_mhz", "sram_mb", "dram_gb", "dram_gbs", "channels", "power_w"):
            require_positive(f"{name} of {self.name}", getattr(self, name))

    @property
    def clock_hz(self) -> float:
        """f, in Hz."""
        return self.clock_mhz * 1e6

    @property
    def macs_per_cycle(self) -> float:
        """M_tot: products of 8 bits a fabric cycle; hard blocks count by the ratio of the clocks."""
        hard = self.hard_blocks * self.macs_per_hard_block * self.hard_clock_mhz / self.clock_mhz
        return self.dsp * self.products_per_dsp + hard

    @property
    def bandwidth_bits(self) -> float:
        """Bandwidth of the memory beside the chip, in bits a second."""
        return self.dram_gbs * 8e9

    @property
    def dram_bits(self) -> float:
        """Memory beside the chip, in bits."""
        return self.dram_gb * 8e9

    @property
    def sram_bits(self) -> float:
        """Memory on the chip, in bits."""
        return self.sram_mb * 8e6


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as a roofline: peak at 16 bits, memory bandwidth, and what launching a layer costs."""

    name: str
    title: str
    tflops: float
    dram_gbs: float
    dram_gb: float
    power_w: float
    layer_overhead_us: float = 0.0

    def __post_init__(self) -> None:
        for name in ("tflops", "dram_gbs", "dram_gb", "power_w"):
            require_positive(f"{name} of {self.name}", getattr(self, name))
        if self.layer_overhead_us < 0:
            raise ModelInputError(f"The layer overhead of {self.name} is negative.")


def require_positive(what: str, value: float) -> None:
    """Raise ModelInputError unless ``value`` is greater than zero."""
    if not value > 0:
        raise ModelInputError(f"{what} must be positive, but is {value}.")


def devices() -> dict[str, Fpga | Gpu]:
    """Every device of ``data/devices.toml`` by name."""
    return load_devices(DATA / "devices.toml")


def transformers() -> dict[str, Transformer]:
    """Every transformer of ``data/models.toml`` by name."""
    return load_transformers(DATA / "models.toml")


def fpga(name: str) -> Fpga:
    """The FPGA of this name.

    Raises:
        ModelInputError: when there is none, with the nearest name.
    """
    return _find({k: v for k, v in devices().items() if isinstance(v, Fpga)}, name, "FPGA")


def gpu(name: str) -> Gpu:
    """The GPU of this name; raises as :func:`fpga` does."""
    return _find({k: v for k, v in devices().items() if isinstance(v, Gpu)}, name, "GPU")


def transformer(name: str) -> Transformer:
    """The transformer of this name; raises as :func:`fpga` does."""
    return _find(transformers(), name, "transformer")


def parse_format(text: str) -> Format:
    """Read ``"W4A8"``.

    Raises:
        ModelInputError: when the text is no such format.
    """
    weights, a, activations = text.upper().removeprefix("W").partition("A")
    if not (text.upper().startswith("W") and a and weights.isdigit() and activations.isdigit()):
        raise ModelInputError(
            f"{text!r} is no number format.", help="write bits of weights and activations: W4A8."
        )
    return Format(int(weights), int(activations))


@cache
def load_devices(path: Path) -> dict[str, Fpga | Gpu]:
    """Read a file of devices.

    Raises:
        ModelInputError: when the file is missing, is not TOML, or an entry has a wrong field.
    """
    found: dict[str, Fpga | Gpu] = {}
    for name, entry in _read(path).items():
        kind = entry.pop("kind", None)
        if kind not in ("fpga", "gpu"):
            raise ModelInputError(
                f"The device {name} in {path} has the kind {kind!r}.", help='write "fpga" or "gpu".'
            )
        if kind == "fpga":
            found[name] = _make(Fpga, name, entry, path)
        else:
            found[name] = _make(Gpu, name, entry, path)
    return found


@cache
def load_transformers(path: Path) -> dict[str, Transformer]:
    """Read a file of transformers; raises as :func:`load_devices` does."""
    return {name: _make(Transformer, name, entry, path) for name, entry in _read(path).items()}


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise ModelInputError(f"The data file {path} cannot be read: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise ModelInputError(f"The data file {path} is not TOML: {error}.") from error


def _make[T: (Fpga, Gpu, Transformer)](
    kind: type[T], name: str, entry: dict[str, Any], path: Path
) -> T:
    known = {f.name for f in fields(kind)} - {"name"}
    if unknown := set(entry) - known:
        raise ModelInputError(
            f"The entry {name} in {path} has unknown fields: {', '.join(sorted(unknown))}.",
            help=f"the fields are {', '.join(sorted(known))}.",
        )
    try:
        return kind(name=name, **entry)
    except TypeError as error:
        raise ModelInputError(f"The entry {name} in {path} is incomplete: {error}.") from error


def _find[T](table: dict[str, T], name: str, what: str) -> T:
    if name in table:
        return table[name]
    near = difflib.get_close_matches(name, table, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ModelInputError(
        f"There is no {what} named {name!r}.", help=f"{hint}known: {', '.join(table)}."
    )
