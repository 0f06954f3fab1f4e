"""Equations (13) to (20) against simulated cycles; scripts/bench llm_model has twelve larger settings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.analysis.blocks import block_time
from allo.designs.llm.analysis.data import ModelInputError, Transformer
from allo.designs.llm.analysis.energy import TokenEnergy, token_energy
from allo.designs.llm.analysis.engine import Engine, step_time, time_of_words, word_rate
from allo.designs.llm.analysis.table import PAGE, load_systems, markdown, placed
from allo.designs.llm.build import Design, memories_and_session
from allo.designs.llm.build import schedule as schedule_blocks
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.network.train import DATA
from allo.designs.llm.network.weights import load_weights
from allo.designs.llm.plan.reports import block_depths_of, depths_of
from allo.designs.llm.wide.build import schedule as schedule_wide
from allo.designs.llm.wide.host import decode
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights

CONFIG = GPTConfig(layers=2, d=64, heads=4, ffn=128, context=16, vocab=30)
WIDE = Wide(channels=2, lanes=16, vector=4, heads=2, prefetch=64)
LATENCY = 33


@pytest.mark.values_elsewhere("cycles alone")
def test_a_token_of_the_wide_accelerator_takes_what_the_equations_say() -> None:
    """With an ideal memory, and with channels that are the limit and a prefetch that fills up."""
    channels = [MemoryChannel(f"c{n}", 4, latency=LATENCY) for n in range(WIDE.channels)]
    built = schedule_wide(CONFIG, WIDE).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )
    weights = random_weights(CONFIG, seed=7)
    memories = make_memories(weights, WIDE)
    shape = Transformer("t", "T", 2, 4, 64, 128, 16, vocab=30)
    engine = Engine(2, 16, 4, 2, 64)
    depths = depths_of(built.report, CONFIG.d // WIDE.vector)
    for module, rate, latency in (
        (built, 4.0, LATENCY),
        (built.variant(memory=None), float("inf"), 0),
    ):
        for position in (0, 9):
            decode(module, weights, memories, 1, position)
            foretold = step_time(shape, engine, depths, position, rate, latency)
            assert foretold.cycles == pytest.approx(module.cycles, rel=0.03), (rate, position)
        assert (foretold.memory > 0.9 * foretold.cycles) == (rate == 4.0)


@pytest.mark.values_elsewhere("cycles alone")
def test_a_block_of_tokens_takes_what_the_equation_says() -> None:
    weights = load_weights(DATA / "char_gpt_w8a8.npz")
    design = Design(lanes=16, block=4, prefetch=128)
    memory = {"weights": MemoryChannel("hbm", 8.0, LATENCY)}
    built = schedule_blocks(weights.config, design).build(
        target="verilog", simulator="jit", memory=memory
    )
    shape = Transformer("t", "T", 2, 4, 64, 256, 128, vocab=32)
    depths = block_depths_of(built.report)
    for module, rate, latency in (
        (built, 8.0, LATENCY),
        (built.variant(memory=None), float("inf"), 0),
    ):
        _, session = memories_and_session(weights, design, module)
        for count, start in ((4, 0), (1, 4)):
            step = session.feed(np.arange(count, dtype=np.int32))
            foretold = block_time(shape, 16, 128, depths, count, start, rate, latency)
            assert foretold.cycles == pytest.approx(step.cycles, rel=0.03), (rate, count)


@pytest.mark.parametrize(
    ("words", "ahead", "rate", "uses", "expected"),
    [
        (100, 0, 1.0, 1, (100, 0)),
        (100, 0, 0.5, 1, (200, 0)),
        (100, 20, 0.5, 1, (160, 0)),
        (100, 80, 0.5, 1, (100, 30)),
        (100, 0, 0.5, 4, (400, 0)),
        (100, 10, 0.125, 4, (720, 0)),
    ],
)
def test_words_in_advance_are_taken_first(words, ahead, rate, uses, expected) -> None:
    assert time_of_words(words, ahead, rate, uses) == pytest.approx(expected)


def test_the_energy_of_a_token_is_that_of_its_bytes_and_products() -> None:
    """353.5 MB from HBM2 at 3.92 pJ a bit are 11 mJ, a U280 for 0.77 ms at most 173 mJ."""
    energy = token_energy(353.5e6, 353.5e6, 1 / 1304, 225)
    assert energy == TokenEnergy(*(pytest.approx(v, rel=0.01) for v in (11.09e-3, 1.14e-3, 0.1725)))
    assert energy.least == pytest.approx(12.2e-3, rel=0.01)


def test_a_channel_without_bandwidth_is_refused() -> None:
    with pytest.raises(
        ModelInputError, match=r"^The bandwidth of a channel must be positive, but is 0\.$"
    ):
        word_rate(Engine(), 0)


def test_the_table_of_the_page_is_made_from_the_data() -> None:
    page = PAGE.read_text()
    assert placed(page, markdown(load_systems())) == page


def test_a_row_says_what_ours_is() -> None:
    systems = [system for system in load_systems() if system.cycles]
    ours = [row for row in markdown(load_systems()).splitlines() if "ours" in row]
    assert len(ours) == 9
    assert all("simulated RTL" in row and "estimated clock, no board" in row for row in ours)
    of_several = ours.pop()
    assert "ternary" in of_several and "of one of six devices, the others foretold" in of_several
    for system in systems:
        rate = 1e6 * system.clock_mhz / system.cycles
        told = f" | {rate:,.1f} | {100 * system.share:.4g} % | "
        (row,) = (row for row in ours if told in row)
        assert re.search(r" \| \d+ to \d+ mJ \|$", row)
    assert "| 13.3 ms |" in ours[1]


def test_a_system_without_a_rate_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(
        '[x]\ntitle = "X"\nplatform = ""\nmodel = "m"\nformat = "W8A8"\nkind = "board"\n'
    )
    with pytest.raises(
        ModelInputError, match=r"^The entry x in .* has no tokens a second\.\nhelp: "
    ):
        load_systems(file)
    with pytest.raises(ModelInputError, match="^The page has no <!-- systems"):
        placed("a page", "a table")
