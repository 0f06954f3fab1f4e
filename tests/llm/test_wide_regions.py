"""The wide accelerator whose channels lie in the regions of a device."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import Channel, predict_step
from allo.designs.llm.wide.external.nibble_cache import reference_of
from allo.designs.llm.wide.external.regions import check_regions, placement
from allo.designs.llm.wide.host import decode
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide, WidthError
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.designs.llm.wide.stages.sizes import sizes_of

from .test_wide_external import CONFIG
from .test_wide_external import TOKENS as PROMPT

WIDE = Wide(
    channels=8,
    lanes=16,
    vector=4,
    heads=4,
    prefetch=64,
    cache="channels",
    cache_prefetch=16,
    regions=(2, 4, 2),
)
NIBBLES = dataclasses.replace(WIDE, channels=4, regions=(1, 2, 1), cache_bits=4, cache_group=8)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"cache": "external"},
            "Channels lie in regions only where they hold keys, values and tables, too.",
        ),
        (
            {"regions": (4, 2, 4)},
            "The 8 channels do not lie in three regions of (4, 2, 4).",
        ),
        (
            {"regions": (3, 2, 3)},
            "A unit of attention has 2 channels, and regions of (3, 2, 3) part some.",
        ),
    ],
    ids=["cache", "sum", "unit"],
)
def test_channels_that_do_not_lie_in_regions_are_refused(changed, message: str):
    with pytest.raises(WidthError) as error:
        check_regions(dataclasses.replace(WIDE, **changed))
    assert error.value.args[0] == message


def test_all_that_a_channel_has_lies_in_its_region():
    """Channels 0 and 1 and the unit 0 lie in the first region; of processes of two kinds both do."""
    placed = placement(sizes_of(CONFIG, WIDE))
    assert placed["serving"] == placed["element"] == (0, 0, 1, 1, 1, 1, 2, 2)
    assert placed["mixing"] == (0, 1, 1, 2)
    assert placed["joining"] == (0, 1, 1, 2, 0, 1, 1, 2)
    assert placed["returning"] == (0, 1, 1, 2)
    assert placed["gathering_in"] == (0, 1, 2)


@pytest.mark.parametrize("wide", [WIDE, NIBBLES], ids=["8 bits", "4 bits"])
def test_logits_and_cycles_of_channels_in_regions_are_those_foretold(wide: Wide):
    """Two channels a unit, or one with keys and values of four bits; borders take some cycles more."""
    channels = [
        MemoryChannel(f"hbm[{n}]", 12, latency=33, prefetch=8) for n in range(wide.channels)
    ]
    hardware = schedule(CONFIG, wide).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )
    weights = random_weights(CONFIG, seed=7)
    memories = make_memories(weights, wide)
    reference = reference_of(weights, wide) if wide.kept_group else WideGPT(weights, wide)
    expected = reference.forward(PROMPT[None])[0]
    for position, token in enumerate(PROMPT):
        got = decode(hardware, weights, memories, int(token), position)
        assert np.array_equal(got.view(np.uint32), expected[position].view(np.uint32)), position
        foretold = predict_step(hardware.report, CONFIG, wide, position, Channel(12, 33, 8))
        assert abs(foretold.cycles / hardware.cycles - 1) < 0.08, (foretold, hardware.cycles)


def test_without_what_stands_at_the_borders_the_clock_is_slower():
    where = placement(sizes_of(CONFIG, NIBBLES))
    placed = schedule(CONFIG, NIBBLES)
    alone = schedule(CONFIG, dataclasses.replace(NIBBLES, regions=()))
    borders = ("_on", "_in"), "hopping"
    plain = {n: at for n, at in where.items() if not (n.endswith(borders[0]) or borders[1] in n)}
    registered, fault = (
        s.estimate(device="xcup", clock_mhz=300, regions=regions)
        for s, regions in ((placed, where), (alone, plain))
    )
    assert registered.fmax_mhz > 1.1 * fault.fmax_mhz
    assert any(part.what == "crossing" for part in fault.critical_path)
