"""Several wide accelerators as one design: P2 stages of P1 devices, and the links between them.

A device has the stages of :mod:`..wide.build`, sized for its share: its heads, its part of the feed-forward
layer, its layers, its part of the vocabulary. What is new is in :mod:`.stages`. A run takes ``rounds`` tokens
of each of ``sequences`` sequences, in turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from ..config import Architecture
from ..stage import Placed, Stage, build_stages
from ..wide.build import engine
from ..wide.parameters import Wide
from ..wide.stages.sizes import Device, Sizes
from . import stages
from .link import Pace
from .parameters import Devices, share_of

ARGUMENTS = (
    "tokens", "start", "weights", "head_weights", "affine", "head_affine", "norm_table", "last_norm",
    "token_table", "position_table", "exponents", "attends", "gelus", "keys", "values", "logits", "chosen",
)  # fmt: skip
COMMON = ("leaving", "come", "ring_out", "ring_in", "votes_out", "votes_in", "elected", "told")
"""Streams from a device to a link, and from a link to a device."""


def device_sizes(config: Architecture, wide: Wide, devices: Devices, device: Device) -> Sizes:
    """The sizes of one device.

    Raises:
        DeviceError, WidthError: the model cannot be shared so.
    """
    share = share_of(config, wide, devices)
    last = device.is_last
    return Sizes(
        config, wide, share.layers, share.heads, share.heads, share.ffn, share.inner,
        3 * share.inner, share.ffn, share.outputs if last else 0, device, "end" if last else "stage",
    )  # fmt: skip


def schedule(config: Architecture, wide: Wide, devices: Devices, speed: Pace) -> Any:
    """All devices with their schedule applied.

    Args:
        speed: of a link, in words of V elements of 32 bits.

    Raises:
        DeviceError, WidthError: the model cannot be shared so.
    """
    outputs = share_of(config, wide, devices).outputs
    placed: list[Placed] = []
    for at in product(range(devices.pipeline), range(devices.tensor)):
        shape = devices.tensor, devices.pipeline, devices.sequences, devices.rounds
        device = Device(*at, *shape)
        z = device_sizes(config, wide, devices, device)
        for stage, names in _stages(z, device, outputs):
            placed.append(Placed(stage, at, names))
        placed += _links(z, device, speed)
    return build_stages("devices_step", ARGUMENTS, placed, COMMON)


def _stages(z: Sizes, device: Device, outputs: int) -> Iterator[tuple[Stage, dict[str, str]]]:
    """The stages of a device in their order, and the streams that are called otherwise in it."""
    shared, last = device.parts > 1, device.is_last
    changes = {"deltas": "changes"}
    names = {
        "norming": {"embedded": "entered", **(changes if last else {})},
        "rescaling": {**changes, **({"gathered": "whole"} if shared else {})},
    }
    for loader in stages.fetching(z, device, outputs):
        yield loader, {}
    if device.stage == 0:
        yield stages.embedding(z, device), {}
    yield stages.entering(z, device), {}
    for name, stage in engine(z).items():
        yield stage, names.get(name, {})
        if name == "norming" and not last:
            yield stages.keeping(z, device), {}
        if name == "gathering" and shared:
            yield stages.reducing(z, device), {}
    if last:
        yield stages.saying(z, device), {}
        yield stages.electing(z, device), {}


def _links(z: Sizes, device: Device, speed: Pace) -> Iterator[Placed]:
    """The links that start at a device."""
    stage, part, p1 = device.stage, device.part, device.parts
    word, rows, sequences = 32 * z.wide.vector, z.rows, device.sequences
    hops = z.steps * (p1 - 1)
    ring = stage, (part + 1) % p1
    hidden = stages.Line("hidden", word, z.steps * rows, 4, sequences * rows)
    token = stages.Line("token", 32, z.steps, sequences, sequences)
    sums = stages.Line("ring", word, hops * 2 * z.layers * rows, 4, 2 * p1 * rows)
    vote = stages.Line("vote", 64, hops, 4, 2 * p1)
    for there, line, to, source, sink in (
        (not device.is_last, hidden, (stage + 1, part), "leaving", "come"),
        (device.stages > 1 and device.is_last, token, (0, part), "elected", "told"),
        (p1 > 1, sums, ring, "ring_out", "ring_in"),
        (p1 > 1 and device.is_last, vote, ring, "votes_out", "votes_in"),
    ):
        if there:
            link = stages.linking(line, speed, device, to)
            yield Placed(link, (stage, part, line.name), {"source": source, "sink": sink})
