"""How a model is shared between devices, and whether it can be."""

from __future__ import annotations

from dataclasses import dataclass

from allo.errors import AlloError

from ..conditions import check_design
from ..config import Architecture
from ..wide.parameters import Wide, WidthError, check_wide
from .link import AURORA_100G, Link


class DeviceError(AlloError):
    """Devices among which a model cannot be shared out."""


@dataclass(frozen=True, slots=True)
class Devices:
    """Several wide accelerators that decode together.

    Attributes:
        tensor: devices that share every layer, p1: each has some of the heads and of the feed-forward layer.
        pipeline: stages, p2: each has some of the layers. There are ``tensor * pipeline`` devices.
        sequences: independent sequences that are decoded in turns, each with keys and values of its own.
        rounds: tokens of each sequence in one run; each but the first is the one that the logits prefer.
        link: every link between two devices, one direction.
    """

    tensor: int = 1
    pipeline: int = 1
    sequences: int = 1
    rounds: int = 1
    link: Link = AURORA_100G

    @property
    def steps(self) -> int:
        """Tokens of a run."""
        return self.sequences * self.rounds


@dataclass(frozen=True, slots=True)
class Share:
    """What one device has of a model.

    Attributes:
        layers: of its stage.
        heads, inner, ffn: heads and their width together, and width of the feed-forward layer, of its share.
        outputs: logits of its share; the vocabulary is padded to whole words of every share.
    """

    layers: int
    heads: int
    inner: int
    ffn: int
    outputs: int


def share_of(config: Architecture, wide: Wide, devices: Devices) -> Share:
    """What every device has of a model.

    Raises:
        DeviceError: the model cannot be shared so, or has what several devices do not.
        WidthError: a device's parameters do not fit its share.
    """
    check_design("devices", config, DeviceError)
    p1, p2 = devices.tensor, devices.pipeline
    for name in ("tensor", "pipeline", "sequences", "rounds"):
        if getattr(devices, name) < 1:
            raise DeviceError(
                f"There are {getattr(devices, name)} {name} of several devices.",
                help=f"{name} is at least 1.",
            )
    _divides(p2, "stages of a pipeline", "layers", config.layers)
    _divides(p1, "devices that share a layer", "heads", config.heads)
    _divides(p1, "devices that share a layer", "elements of the feed-forward layer", config.ffn)
    if wide.bits != 8:
        raise DeviceError(
            f"Several devices have weights of 8 bits, not of {wide.bits}.", help="use bits=8."
        )
    if wide.cache != "chip":
        raise DeviceError(
            "Several devices keep keys and values on the chip, and not in external memory.",
            help='use cache="chip".',
        )
    check_wide(config, wide)
    taken = "ternary weights of a word" if wide.trits else "lanes"
    inner, ffn, heads = config.d // p1, config.ffn // p1, config.heads // p1
    for what, part, of, whole in (
        (taken, wide.activations, "width of a share's heads", inner),
        (taken, wide.activations, "feed-forward width of a share", ffn),
        ("channels", wide.channels, "width of a share's heads", inner),
        ("channels", wide.channels, "feed-forward width of a share", ffn),
        ("heads at once", wide.heads, "heads of a share", heads),
    ):
        if whole % part:
            raise WidthError(
                f"The {part} {what} do not divide the {of}, {whole}.",
                help=f"use fewer {what}, or share each layer between fewer than {p1} devices.",
            )
    unit = p1 * max(wide.channels, wide.vector)
    return Share(config.layers // p2, heads, inner, ffn, -(-config.vocab // unit) * unit // p1)


def _divides(part: int, what: str, name: str, whole: int) -> None:
    if whole % part == 0:
        return
    near = max(n for n in range(1, part) if whole % n == 0)
    raise DeviceError(
        f"The {part} {what} do not divide the {whole} {name}.",
        help=f"the largest number below it that does is {near}.",
    )
