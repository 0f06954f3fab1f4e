"""Plans of designs with one reader a channel, and with ternary weights on the chip."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from itertools import islice

import pytest

from allo.cli import main
from allo.designs.llm.analysis.data import Transformer, fpga
from allo.designs.llm.analysis.engine import Engine
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.plan.merged import Merged, fifos_of, load_merged, shape_of
from allo.designs.llm.plan.question import PlanError, Question
from allo.designs.llm.plan.reports import load_models, sizes_of
from allo.designs.llm.plan.search import plan
from allo.designs.llm.plan.trying import architecture, exact, merged, ternary
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import Channel
from allo.designs.llm.wide.parameters import Wide
from allo.errors import DTypeWarning
from benchmarks.llm_channels import WHOLE

TINY = Transformer("tiny", "Tiny", 4, 4, 256, 512, 1024, vocab=5000)
U280 = fpga("u280")
UNSEEN = GPTConfig(layers=1, d=512, heads=8, ffn=2048, context=128, vocab=300)
MERGED = Wide(
    channels=16, lanes=64, vector=16, heads=8, prefetch=512, gelu_interval=2, cache="channels",
    cache_prefetch=256,
)  # fmt: skip
GATED = shape_of(
    {"family": "llama", "layers": 1, "d": 768, "heads": 12, "kv_heads": 4, "ffn": 2048, "context": 128,
     "vocab": 300}
)  # fmt: skip
HALVED = Wide(
    channels=16, lanes=64, vector=16, heads=2, keys=4, bits=4, prefetch=512, gelu_interval=2,
    cache="channels", cache_prefetch=512, cache_bits=4,
)  # fmt: skip
TERNARY = Wide(channels=16, trits=64, vector=16, heads=4, gelu_interval=2, weights="chip")
ESTIMATED = {
    "merged": {"lut": 449_336, "ff": 461_239, "dsp": 2462, "mhz": 265.0},
    "halved": {"lut": 489_906, "ff": 513_693, "dsp": 3182, "mhz": 264.5},
    "ternary": {"lut": 303_974, "ff": 222_162, "dsp": 866, "mhz": 246.8},
}
"""Of designs of UNSEEN and GATED, which are none of the samples; the night estimates them again."""
WITHIN = {"lut": 0.03, "ff": 0.06, "dsp": 0.001, "mhz": 0.01}


def foretold(kind: str) -> dict[str, float]:
    """What the models say of a design that they have not seen."""
    if kind != "ternary":
        models = load_merged()
        sizes = Merged(UNSEEN, MERGED) if kind == "merged" else Merged(GATED, HALVED)
        whole = models.whole(sizes)
        return whole | {"mhz": models.clock(sizes, whole["lut"])}
    model = Transformer("t", "T", 1, 8, 512, 2048, 128, vocab=300)
    few = sizes_of(model, Engine(16, 1, 16, 4, 2, 2, trits=64), 128)
    fits = load_models()
    whole = fits.whole(few)
    return whole | {"mhz": fits.clock(few, whole["lut"])}


@pytest.mark.parametrize("kind", ["merged", "halved", "ternary"])
def test_the_models_give_the_estimate_of_a_design_they_have_not_seen(kind: str) -> None:
    found = foretold(kind)
    for name, value in ESTIMATED[kind].items():
        assert found[name] == pytest.approx(value, rel=WITHIN[name]), name


@pytest.mark.parametrize(
    ("kind", "model", "wide"),
    [("merged", UNSEEN, MERGED), ("halved", GATED, HALVED), ("ternary", UNSEEN, TERNARY)],
)
def test_the_estimates_that_are_held_are_those_of_today(
    kind: str, model: Architecture, wide: Wide
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DTypeWarning)
        report = schedule(model, wide).estimate(clock_mhz=300)
    found = {**report.resources, "mhz": report.fmax_mhz}
    for name, value in ESTIMATED[kind].items():
        assert found[name] == pytest.approx(value, rel=0.01), name


def test_a_whole_model_is_near_its_estimate() -> None:
    """LLaMA-3.2-1B's design with keys of four bits, larger than all samples: its recorded estimate."""
    config, wide, _ = WHOLE["LLaMA-3.2-1B, W4A8 KV4"]
    sizes, models = Merged(replace(config, layers=1), wide), load_merged()
    whole = models.whole(sizes)
    estimate = {"lut": 869_528, "ff": 1_060_857, "dsp": 7250, "bram": 1536, "uram": 528}
    for kind, value in estimate.items():
        assert whole[kind] == pytest.approx(value, rel=0.04 if kind == "lut" else 0.01), kind
    assert models.clock(sizes, whole["lut"]) == pytest.approx(251.0, rel=0.05)


def test_fifos_and_tables_are_those_of_every_estimate() -> None:
    """All FIFOs of 50 designs by name, width, depth and number, and what each design takes."""
    models = load_merged()
    assert len(models.samples) == 50
    for sizes, sample in zip(models.sizes, models.samples, strict=True):
        assert sorted(fifos_of(sizes)) == sorted(map(tuple, sample["fifos"])), sizes.wide
        whole, said = models.whole(sizes), sample["whole"]
        assert whole["lut"] == pytest.approx(said["lut"], rel=0.006), sizes.wide
        assert whole["ff"] == pytest.approx(said["ff"], rel=0.04), sizes.wide
        assert whole["dsp"] == pytest.approx(said["dsp"], abs=1), sizes.wide
        assert whole["uram"] == pytest.approx(said.get("uram", 0), abs=1), sizes.wide
        clock = models.clock(sizes, whole["lut"])
        assert clock == pytest.approx(sample["fmax_mhz"], rel=0.002), sizes.wide
        delays = models.delays(sizes)
        for stage, delay in sample["delays"].items():
            assert abs(delays[stage] - delay) <= 2, (stage, sizes.wide)


def test_a_few_layers_and_logits_stand_for_all() -> None:
    """The token that is put together of two and three layers is that of the whole model, within 1.5 %."""
    question = Question(replace(TINY, vocab=400_000), U280, context=1024, position=1000)
    fast = (one for one in merged(question, load_models()) if one.wide.channels == 32)
    some = [*islice(fast, 0, None, 23)]
    assert len(some) == 4
    for one in some:
        sizes = Merged(architecture(question), one.wide)
        channel = Channel(question.channel_bytes_at(300.0), 33)
        whole = load_merged().token(sizes, question.position, channel)
        assert not one.is_exact
        known = exact(question, one)
        assert known.is_exact
        assert known.time.cycles == pytest.approx(whole.cycles, rel=0.015)


def test_designs_with_one_reader_a_channel_are_planned_for_alone() -> None:
    card = replace(U280, lut=700_000, channels=16)
    question = Question(TINY, card, context=1024, position=900, clock_mhz=None, cache="channels")
    found = plan(question)
    best, limits = found.found, question.limits()
    assert (best.wide.cache, best.wide.lanes) == ("channels", 64)
    assert best.is_exact
    assert all(best.taken[kind] <= limit for kind, limit in limits.items())
    assert found.tokens_per_second <= found.bound_tokens_per_second
    with pytest.raises(
        PlanError, match=r"^No plan with weights of 8 bits has keys and values in 'disk'\."
    ):
        plan(replace(question, cache="disk"))


def test_keys_and_values_of_four_bits_are_in_the_channels() -> None:
    """They take less of the channels, so a token at the end of its context is faster."""
    question = Question(TINY, U280, context=1024, position=1000, cache="channels")
    four = replace(question, cache_bits=4, cache="")
    found, other = plan(four), plan(question)
    assert (found.found.wide.cache, found.found.wide.cache_bits) == ("channels", 4)
    assert other.found.wide.cache_bits == 8
    assert found.found.seconds < other.found.seconds
    assert found.found.taken["dram"] < other.found.taken["dram"]
    for bad, text in (
        (replace(four, cache="chip"), r"weights of 8 bits has keys and values of 4 bits in 'chip'"),
        (replace(four, ternary=True), "ternary weights has keys and values of 4 bits beside them"),
    ):
        with pytest.raises(PlanError, match=rf"^No plan with {text}\.") as error:
            plan(bad)
        assert 'of 4 bits are in "channels" alone' in str(error.value)
    with pytest.raises(PlanError, match=r"^There are no keys and values of 3 bits\."):
        plan(replace(question, cache_bits=3))


# --- ternary ---------------------------------------------------------------------------------


def test_ternary_weights_are_on_the_chip_and_nothing_is_beside_it() -> None:
    question = Question(TINY, U280, context=64, position=9, ternary=True)
    found = plan(question)
    best = found.found
    assert best.engine.trits and best.wide.weights == "chip"
    assert best.taken["dram"] == 0
    assert best.taken["uram"] > 0
    assert found.bandwidth_share == 0
    assert "bandwidth" not in found.limit
    assert all(one.seconds >= best.seconds / 1.002 for one in ternary(question, load_models())
               if all(one.taken[kind] <= limit for kind, limit in question.limits().items()))  # fmt: skip


def test_ternary_weights_that_the_chip_does_not_hold_name_their_bound() -> None:
    question = Question(
        TINY, replace(U280, uram=4), context=64, position=9, ternary=True, clock_mhz=300
    )
    with pytest.raises(
        PlanError,
        match=r"^Tiny with ternary weights does not fit AMD Alveo U280: the smallest accelerator takes \d+ "
        r"blocks of RAM \(288 kbit\) of 3 that may be taken, \d+ too many \(\d+\.\d\d times as many\)\.",
    ) as error:
        plan(question)
    assert "take several devices in a pipeline" in str(error.value)


def test_the_command_takes_ternary_weights(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(
        '{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4,'
        '"num_key_value_heads": 2, "intermediate_size": 512, "max_position_embeddings": 128,'
        '"vocab_size": 100, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 1e4}'
    )
    asked = ["llm", "plan", "--model", str(tmp_path), "--device", "u280", "--context", "64"]
    assert main([*asked, "--position", "9", "--ternary"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"ternary weights, AMD Alveo U280, \d+", printed)
    assert re.search(r"elements .* \d+, of \d+ ternary weights each", printed)
    assert "none: the weights are on the chip" in printed
