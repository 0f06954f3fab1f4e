"""Plans of the wide accelerator: equations (13) to (19), what processes take, the search, the command."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import allo
from allo.cli import main
from allo.designs.llm.analysis.data import ModelInputError, Transformer, fpga, transformer
from allo.designs.llm.analysis.engine import (
    Engine,
    activation_pause,
    drain,
    jobs,
    step_time,
    word_rate,
    words_of_layer,
    words_of_logits,
)
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.plan.fits import KINDS
from allo.designs.llm.plan.inputs import device_of, model_of
from allo.designs.llm.plan.question import PlanError, Question, bound_cycles
from allo.designs.llm.plan.reports import depths_of, load_models, sizes_of
from allo.designs.llm.plan.search import plan
from allo.designs.llm.plan.trying import (
    architecture,
    cache_blocks,
    candidates,
    engines,
)
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.external.traffic import beside_weights
from allo.designs.llm.wide.parameters import Wide, check_wide
from allo.errors import DTypeWarning
from allo.ir.types import UInt

HBM = 64 * 256 / 341
"""Bytes a cycle of a channel of the simulator's HBM2, at 300 MHz."""
TINY = Transformer("tiny", "Tiny", 2, 4, 256, 512, 128, vocab=100)
GPT2 = transformer("gpt2-355m")


@pytest.fixture(scope="module")
def models():
    return load_models()


@pytest.fixture(scope="module")
def tiny(models):
    return list(candidates(Question(TINY, fpga("u280"), context=64, position=9), models))


# --- the equations ---------------------------------------------------------------------------


def test_words_are_those_of_the_weights() -> None:
    assert words_of_layer(GPT2, Engine()) == (1536, 512, 2048, 2048)
    assert words_of_logits(GPT2, Engine()) == 50_272 * 1024 / 2048
    four = words_of_layer(GPT2, Engine(bits=4))
    assert four == (768 + 12, 256 + 4, 1024 + 16, 1024 + 16)
    llama = transformer("llama-3.2-1b")
    assert words_of_layer(llama, Engine())[0] == (2048 + 2 * 512) * 2048 / 2048
    assert words_of_layer(llama, Engine())[2] == 2 * 8192 * 2048 / 2048


@pytest.mark.parametrize(("layers", "vocab", "part"), [(1, 1000, "layer"), (24, 50_257, "whole")])
def test_a_token_takes_what_was_simulated(
    models, layers: int, vocab: int, part: str, figures
) -> None:
    """GPT-2 355M on 32 channels, position 127: docs/llm/wide.md has the simulated cycles."""
    measured = figures.recorded(f"llm.ideal.w8a8.{part}.cycles")
    model = replace(GPT2, layers=layers, vocab=vocab)
    depths = models.depths(sizes_of(model, Engine(), 256))
    assert step_time(model, Engine(), depths, 127, HBM, 33).cycles == pytest.approx(
        measured, rel=0.01
    )


def test_a_slow_gelu_holds_the_elements_up(models) -> None:
    quick, slow = (Engine(vector=4, gelu_interval=n) for n in (1, 8))
    depths = models.depths(sizes_of(GPT2, slow, 256))
    gained = step_time(GPT2, slow, depths, 127).cycles - step_time(GPT2, quick, depths, 127).cycles
    assert gained == pytest.approx(24 * (8 * 4096 / 4 - 2048), rel=0.01)


def test_a_cache_in_the_memory_takes_the_channels(models) -> None:
    depths = models.depths(sizes_of(GPT2, Engine(), 256))
    alone = step_time(GPT2, Engine(), depths, 127, HBM)
    cached = step_time(GPT2, Engine(), depths, 127, HBM, cache_bytes=32 * HBM * 1000)
    assert cached.memory - alone.memory == pytest.approx(24 * 1000)
    assert cached.cycles - alone.cycles == pytest.approx(24 * 1000, rel=0.01)


def test_pauses_are_what_passes_between_two_jobs(models) -> None:
    depths = models.depths(sizes_of(GPT2, Engine(), 256))
    listed = list(jobs(GPT2, Engine(), depths, 127))
    assert len(listed) == 4 * 24 + 1
    assert listed[3].pause == activation_pause(GPT2, Engine(), depths)
    assert listed[4].pause > drain(Engine(), depths)
    assert listed[5].pause > listed[5 - 4 + 1].pause
    assert word_rate(Engine(), 48) == 0.75
    assert word_rate(Engine(), 100) == 1.0


def test_heads_that_do_not_divide_are_refused(models) -> None:
    depths = models.depths(sizes_of(GPT2, Engine(), 256))
    with pytest.raises(
        ModelInputError, match="^3 heads at once do not divide the 16 heads of gpt2-355m"
    ):
        step_time(GPT2, Engine(heads=3), depths, 127)


# --- what processes take ---------------------------------------------------------------------


def test_the_models_give_the_estimate_of_a_design_they_have_not_seen(models) -> None:
    config = GPTConfig(layers=1, d=512, heads=8, ffn=2048, context=128, vocab=300)
    wide = Wide(channels=8, lanes=64, vector=16, heads=4, prefetch=512, gelu_interval=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DTypeWarning)
        report = schedule(config, wide).estimate(device="xcup", clock_mhz=300)
    model = Transformer("t", "T", 1, 8, 512, 2048, 128, vocab=300)
    engine = Engine(8, 64, 16, 4, 512, 2)
    sizes = sizes_of(model, engine, 128)
    whole = models.whole(sizes)
    for kind in ("lut", "ff", "dsp"):
        assert whole[kind] == pytest.approx(report.resources[kind], rel=0.12), kind
    found, foretold = depths_of(report, 512 // 16), models.depths(sizes)
    times = [step_time(model, engine, depths, 100).cycles for depths in (found, foretold)]
    assert times[1] == pytest.approx(times[0], rel=0.01)
    assert models.clock(sizes, whole["lut"]) == pytest.approx(report.fmax_mhz, rel=0.02)


def test_more_of_everything_takes_more(models) -> None:
    base = Engine(8, 32, 8, 2, 64)
    less = models.whole(sizes_of(TINY, base, 64))
    for change in ({"channels": 16}, {"lanes": 64}, {"vector": 16}, {"heads": 4}):
        more = models.whole(sizes_of(TINY, replace(base, **change), 64))
        assert all(more[kind] > less[kind] for kind in ("lut", "ff", "dsp")), change


# --- the search ------------------------------------------------------------------------------


def test_every_candidate_is_legal() -> None:
    config = GPTConfig(layers=2, d=256, heads=4, ffn=512, context=64, vocab=100)
    found = list(engines(Question(TINY, fpga("u280"), context=64, position=9)))
    assert len(found) > 1000
    for engine in found:
        names = ("channels", "lanes", "vector", "heads", "prefetch", "gelu_interval")
        check_wide(config, Wide(**{name: getattr(engine, name) for name in names}))


def test_a_plan_fits_and_nothing_that_fits_is_faster(models, tiny) -> None:
    question = Question(TINY, fpga("u280"), context=64, position=9, fill=0.2)
    found = plan(question, models)
    limits = question.limits()
    assert all(found.found.taken[kind] <= limits[kind] for kind in limits)
    fitting = [c for c in tiny if all(c.taken[kind] <= limits[kind] for kind in limits)]
    fastest = min(c.time.cycles for c in fitting)
    assert 0 < len(fitting) < len(tiny) == found.tried
    assert found.found.time.cycles <= 1.002 * fastest
    assert found.tokens_per_second == pytest.approx(300e6 / found.found.time.cycles)
    kind = min(found.freed, key=lambda name: found.freed[name])
    free = [c for c in tiny if all(c.taken[k] <= limit for k, limit in limits.items() if k != kind)]
    fastest_freed = min(c.time.cycles for c in free)
    assert found.freed[kind] == pytest.approx(fastest_freed, rel=1e-12)
    assert fastest_freed < found.found.time.cycles
    assert re.match(r"[a-z() 0-9]+: with more of them a token would be 1\.\d+ times", found.limit)


def test_the_clock_is_the_estimates_where_none_is_asked_for(models) -> None:
    """A slow GELU has a long path: the fastest in cycles at one clock is not the fastest in time.

    T_mem of the equations that the project was given, bits of weights over the bandwidth, bounds all.
    """
    card = replace(fpga("vck5000"), channels=1, dram_gbs=25.0)
    small = replace(TINY, hidden=64, heads=1)
    question = Question(small, card, clock_mhz=None, context=64, position=9, fill=0.2)
    found, tried = plan(question, models).found, list(candidates(question, models))
    slowest, fastest = models.fmax_mhz
    assert slowest * 0.95 < found.clock_mhz < fastest * 1.05
    of_gelu = {
        one.engine.gelu_interval: one.clock_mhz
        for one in tried
        if replace(one.engine, gelu_interval=1) == Engine(1, 32, 8, 1, 64, 1)
    }
    assert of_gelu[1] > of_gelu[4] > of_gelu[8]
    bytes_of_weights = small.layers * (4 * 64**2 + 2 * 64 * 512) + 100 * 64
    assert all(one.seconds >= bytes_of_weights / 25e9 for one in tried)
    fitting = [c for c in tried if all(c.taken[k] <= v for k, v in question.limits().items())]
    assert found.seconds <= 1.002 * min(one.seconds for one in fitting)


def test_resources_that_are_short_together_are_named(models) -> None:
    found = plan(Question(TINY, fpga("u280"), context=64, position=9, fill=0.15), models)
    alone = min(c.time.cycles for c in candidates(found.question, models))
    if not found.freed and found.found.time.cycles > 1.01 * alone:
        assert re.search(r" together: with more of all a token would be 1\.\d\d times", found.limit)
    else:
        assert "with more of them" in found.limit


def test_the_bound_is_that_of_the_bandwidth() -> None:
    """With the logits, 353.5 MB at 460 GB/s: 1,301 tokens a second."""
    question = Question(GPT2, fpga("u280"))
    assert 300e6 / bound_cycles(question) == pytest.approx(1301.4, rel=1e-3)


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"bits": 3}, "There are no weights of 3 bits."),
        ({"position": 64}, "A token at position 64 does not fit a context of 64."),
        ({"fill": 1.5}, "The share 1.5 of the resources is not within (0, 1]."),
        ({"model": transformer("bert-base")}, "BERT-base is an encoder, which reads a sequence"),
        ({"device": fpga("agilex7")}, "The estimates say nothing about the fabric of Intel Agilex"),
        (
            {"model": replace(TINY, hidden=252, ffn=500)},
            "No accelerator fits the widths of Tiny and AMD Alveo U280",
        ),
    ],
    ids=["bits", "position", "fill", "encoder", "fabric", "widths"],
)
def test_a_question_without_an_answer_is_refused(models, change, text: str) -> None:
    question = replace(Question(TINY, fpga("u280"), context=64, position=9), **change)
    with pytest.raises(PlanError, match=f"^{re.escape(text)}"):
        plan(question, models)


@pytest.mark.parametrize(
    ("change", "text", "remedy"),
    [
        ({"fill": 0.01}, r"takes [\d,]+ [a-z ]+ of [\d,]+ that may be taken", "raise --fill"),
        (
            {"device": replace(fpga("u280"), dram_gb=0.0005)},
            r"takes 1,[\d,]+ bytes of memory beside the chip of 500,000 that may be taken",
            "use --bits 4",
        ),
    ],
    ids=["lut", "dram"],
)
def test_what_does_not_fit_names_the_resource(models, change, text: str, remedy: str) -> None:
    question = replace(Question(TINY, fpga("u280"), context=64, position=9), **change)
    with pytest.raises(PlanError, match=text) as error:
        plan(question, models)
    assert re.search(r"[\d,]+ too many \(\d+\.\d\d times as many\)", str(error.value))
    assert remedy in str(error.value)


# --- the command -----------------------------------------------------------------------------


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["llm", "plan", "--model", "gpt2-124m", "--device", "vck5000", "--json"]
    assert main(asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["engine"]["channels"] == 4
    assert told["clock_mhz"] < told["estimated_clock_mhz"][1] * 1.05
    assert "that of the compiler's estimates" in told["notes"][0]
    assert told["bandwidth_share"] > 0.99
    assert told["cycles"] >= told["cycles_of_the_memory"]
    assert all(told["takes"][kind]["takes"] <= told["takes"][kind]["may_take"] for kind in KINDS)
    assert "4 channels are busy" in told["limit"]


def test_the_command_prints_tables(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["llm", "plan", "--model", "gpt2-124m", "--device", "vck5000", "--clock", "300"]
    assert main(asked) == 0
    printed = capsys.readouterr().out
    assert "GPT-2 124M, weights of 8 bits, AMD VCK5000, 300 MHz" in printed
    assert "blocks of RAM (288 kbit)" in printed
    assert "The clock is the one asked for." in printed


def folder_of(path: Path, **changed: Any) -> str:
    """A folder with the configuration of a small LLaMA, and no weights."""
    config: dict[str, Any] = {
        "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 512, "max_position_embeddings": 128, "vocab_size": 100,
        "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 1e4,
    }  # fmt: skip
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config | changed))
    return str(path)


CARD = """
[card]
title = "A card"
kind = "fpga"
clock_mhz = 250
lut = 300_000
ff = 600_000
dsp = 1800
products_per_dsp = 2
bram18 = 900
uram = 200
sram_mb = 10
dram_gb = 0.01
dram_gbs = 25
channels = 1
power_w = 75
"""


def test_a_folder_and_a_file_are_planned_for(tmp_path: Path, capsys) -> None:
    """A folder without weights, and a device of no table; a model that is too large names its bound."""
    card = tmp_path / "card.toml"
    card.write_text(CARD)
    folder = folder_of(tmp_path / "small")
    assert model_of(folder) == replace(MULTI, name="small", title="small", ffn=512)
    where = ["--device", str(card), "--context", "64", "--position", "9", "--json"]
    assert main(["llm", "plan", "--model", folder, *where]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["model"], told["device"]) == ("small", "card")
    assert told["engine"]["channels"] == 1
    assert told["tokens_per_second"] <= told["bound_tokens_per_second"]
    deep = folder_of(tmp_path / "deep", num_hidden_layers=40)
    assert main(["llm", "plan", "--model", deep, *where]) == 1
    assert re.search(
        r"deep with weights of 8 bits does not fit A card: the smallest accelerator takes [\d,]+ bytes of "
        r"memory beside the chip of 10,000,000 that may be taken",
        capsys.readouterr().err,
    )


def test_folders_and_files_that_say_no_plan(tmp_path: Path) -> None:
    wide_heads = folder_of(tmp_path / "wide", head_dim=128)
    with pytest.raises(
        ModelInputError, match="does not have heads that do not fill the hidden wid"
    ):
        model_of(wide_heads)
    with pytest.raises(ModelInputError, match="^There is no transformer named"):
        model_of(str(tmp_path / "nowhere"))
    two = tmp_path / "two.toml"
    two.write_text(CARD + CARD.replace("[card]", "[other]"))
    with pytest.raises(ModelInputError, match=r"for one FPGA, and the file .* has card, other\."):
        device_of(str(two))
    with pytest.raises(ModelInputError, match="cannot be read: No such file"):
        device_of(str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("gpt2-355", "u280"), "There is no transformer named 'gpt2-355'.\nhelp: did you mean"),
        (("gpt2-355m", "u28"), "There is no FPGA named 'u28'.\nhelp: did you mean 'u280'?"),
    ],
    ids=["model", "device"],
)
def test_a_wrong_name_is_answered_with_the_nearest(
    capsys: pytest.CaptureFixture[str], given: tuple[str, str], text: str
) -> None:
    assert main(["llm", "plan", "--model", given[0], "--device", given[1]]) == 1
    assert text in capsys.readouterr().err


def test_a_cache_on_the_chip_takes_the_blocks_that_its_memory_is_estimated_at() -> None:
    """A unit's keys of GPT-2 355M, 24,576 words of 512 bits: emitted as UltraRAM, and counted so."""
    words, context = 24 * 4 * 256, 256

    def kept(new: UInt(512)[context], words_out: UInt(512)[context]):
        cache: UInt(512)[words]
        for row in range(words):
            cache[row] = new[row & (context - 1)]
        for key in range(context):
            words_out[key] = cache[key * (words // context)]

    s = allo.customize(kept)
    s.pipeline("row")
    s.pipeline("key")
    taken = s.estimate(device="xcup", clock_mhz=300).resources
    question = Question(GPT2, fpga("u280"), context=context)
    assert taken["uram"] * 2 * 4 == cache_blocks(question, Engine(heads=4)) == 384
    assert 'ram_style = "ultra"' in str(s.build(target="verilog"))


# --- plans and the design ----------------------------------------------------------------------


MULTI = replace(TINY, kv_heads=2, gated=True, ffn=768)
GRID = [
    Question(model, fpga("vck5000"), bits, clock, context, context - 1, 0.6)
    for model, bits, clock, context in (
        (TINY, 4, 300.0, 64),
        (MULTI, 8, 225.0, 4096),
        (replace(MULTI, kv_heads=1), 4, 450.0, 1024),
    )
]


@pytest.mark.parametrize("question", GRID, ids=range(len(GRID)))
def test_what_is_proposed_is_taken_and_below_its_own_bound(models, question: Question) -> None:
    """The bytes of the design's own count, at the bandwidth of the channels that it has."""
    shape = architecture(question)
    for one in candidates(question, models):
        wide = one.wide
        assert check_wide(shape, wide) is None
        arrays = ("weights",) if wide.cache == "chip" else ("weights", "keys", "values")
        moved = beside_weights(shape, wide, question.position, arrays)
        least = moved / (wide.channels * question.channel_bytes)
        assert one.time.cycles >= max(least, bound_cycles(question)), (wide, least)
    found = plan(question, models)
    assert found.tokens_per_second <= found.bound_tokens_per_second


def test_a_context_that_the_counters_do_not_reach_is_refused(models) -> None:
    question = Question(TINY, fpga("u280"), context=65_537, position=9)
    with pytest.raises(
        PlanError, match=r"^The wide accelerator does not have a context over 65,536"
    ):
        plan(question, models)
