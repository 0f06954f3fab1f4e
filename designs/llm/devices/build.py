"""Schedule several devices: the schedules of the kernels, composed, and the devices' own loops."""

from __future__ import annotations

from typing import Any

import allo

from ..config import GPTConfig
from ..wide.activation import bend, schedule_bend
from ..wide.heads import (
    divide,
    mix,
    pack,
    schedule_divide,
    schedule_mix,
    schedule_pack,
    schedule_score,
    score,
)
from ..wide.linear import (
    fetch,
    multiply,
    rescale,
    schedule_fetch,
    schedule_multiply,
    schedule_rescale,
)
from ..wide.norm import normalise, schedule_normalise
from ..wide.parameters import Wide
from .exchange import (
    embed,
    keep,
    reduce_shares,
    schedule_embed,
    schedule_keep,
    schedule_reduce,
)
from .link import Pace
from .link_kernels import arrive, depart, pace, schedule_end, schedule_pace
from .parameters import Devices, share_of
from .region import make_region
from .votes import say, schedule_say


def schedule(config: GPTConfig, wide: Wide, devices: Devices, speed: Pace) -> Any:
    """The region with its schedule applied, kernels below it first.

    Args:
        speed: of a link, in words of V elements of 32 bits.

    Raises:
        DeviceError, WidthError: the model cannot be shared so.
    """
    s = make_region(config, wide, devices, speed)
    share = share_of(config, wide, devices)
    d, hd, layers, inner, ffn = config.d, config.head_dim, share.layers, share.inner, share.ffn
    c, lanes, v, units = wide.channels, wide.lanes, wide.vector, wide.heads
    logs = v.bit_length() - 1, wide.parts.bit_length() - 1
    steps, rows, p1, p2 = devices.steps, d // v, devices.tensor, devices.pipeline

    def of(kernel: Any, *sizes: int) -> Any:
        return allo.customize(kernel, instantiate=list(sizes))

    outputs = layers * (3 * inner + 2 * d + ffn)
    words = layers * (4 * inner * d + 2 * ffn * d) // (c * lanes)
    for name, bits, count in (
        ("weights", 8 * lanes, words),
        ("head_weights", 8 * lanes, share.outputs * d // (c * lanes)),
        ("affine", 64 * v, outputs // v),
        ("head_affine", 64 * v, share.outputs // v),
        ("gain", 64 * v, 2 * layers * rows),
        ("last_gain", 64 * v, rows),
    ):
        s.compose(schedule_fetch(of(fetch, bits, count)), id=name)
    for last, name in enumerate(("stage", "end")):
        if p2 == 1 and not last:
            continue
        said = last * share.outputs
        element = of(multiply, lanes, c, d, 3 * inner, inner, ffn, ffn, layers, said // c)
        s.compose(schedule_multiply(element), id=name)
        rescaling = of(rescale, v, d, 3 * inner, ffn, layers, said, 2)
        s.compose(schedule_rescale(rescaling, wide.rescale_interval), id=name)
        norms = of(normalise, d, v, logs[0], wide.parts, logs[1], 2 * layers + last, 2)
        s.compose(schedule_normalise(norms), id=name)
        if p1 > 1:
            reducing = of(reduce_shares, v, d, inner, ffn, layers, said, p1)
            s.compose(schedule_reduce(reducing), id=name)
    s.compose(schedule_embed(of(embed, d, v, config.vocab, config.context)))
    if p2 > 1:
        s.compose(schedule_keep(of(keep, d, v, layers)))
    s.compose(schedule_bend(of(bend, ffn, v, layers), wide.gelu_interval))
    s.compose(schedule_pack(of(pack, 3 * inner, hd, v, steps * layers)))
    per_unit = share.heads // units
    unit = hd, per_unit, 1, config.context, layers
    s.compose(schedule_score(of(score, *unit)))
    s.compose(schedule_mix(of(mix, *unit)))
    s.compose(schedule_divide(of(divide, hd, v, share.heads, layers)))
    for name, bits, count in (
        *([("hidden", 32 * v, steps * rows), ("token", 32, steps)] if p2 > 1 else []),
        *(
            [
                ("ring", 32 * v, steps * 2 * layers * (p1 - 1) * rows),
                ("vote", 64, steps * (p1 - 1)),
            ]
            if p1 > 1
            else []
        ),
    ):
        s.compose(schedule_pace(of(pace, bits, count), speed.interval), id=name)
        s.compose(schedule_end(of(depart, bits)), id=name)
        s.compose(schedule_end(of(arrive, bits, speed.wait)), id=name)
    s.compose(schedule_say(of(say, v, share.outputs, config.vocab, steps)))
    _own_loops(s, devices)
    return s


def _own_loops(s: Any, devices: Devices) -> None:
    top = "devices_step"
    for array in ("weights", "exponents", "keys", "values"):
        s.partition(f"{top}:{array}", dim=1)
        s.partition(f"{top}:{array}", dim=2)
    for array in (
        "tokens", "affine", "head_affine", "norm_table", "last_norm", "token_table",
        "position_table", "attends", "gelus", "logits",
    ):  # fmt: skip
        s.partition(f"{top}:{array}", dim=1)
    s.partition(f"{top}:head_weights", dim=1)
    s.partition(f"{top}:head_weights", dim=2)
    for i in range(devices.pipeline):
        for t in range(devices.tensor):
            at = f"{i}_{t}_0"
            arrays = [f"gather_{at}:held", f"gather_{at}:block", f"entering_{at}:block"]
            loops = [
                f"entering_{at}:row", f"spreading_{at}:word", f"gather_{at}:word", f"dealing_{at}:head",
            ]  # fmt: skip
            for array in arrays:
                s.partition(array)
            for loop in loops:
                s.pipeline(loop)
