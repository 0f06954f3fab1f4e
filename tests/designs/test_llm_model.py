"""The analytical model: the published points, the equations' parts, the search, the command."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allo.designs.llm.analysis import gpu as model_gpu
from allo.designs.llm.analysis import model
from allo.designs.llm.analysis.data import (
    Format,
    Fpga,
    Gpu,
    ModelInputError,
    devices,
    fpga,
    gpu,
    load_devices,
    load_transformers,
    parse_format,
    transformer,
)
from allo.designs.llm.analysis.equations import (
    OPERATORS,
    Parallelism,
    balanced,
    balanced_decode,
    balanced_decode_cycles,
    balanced_prefill_cycles,
    bandwidth_demand,
    block_demand,
    communication_seconds,
    decode_time,
    decode_work,
    distributed_prefill_time,
    dram_demand,
    fits,
    kv_cache_bits,
    memory_blocks,
    memory_cycles,
    parameter_bits,
    port_width,
    prefill_time,
    prefill_work,
    sram_demand,
)
from allo.designs.llm.analysis.search import evaluate, macs_to_match, plan_decode, plan_prefill

W4A8 = Format(4, 8)
TOLERANCE = 1e-3

# --- the published points --------------------------------------------------------------------


def test_one_bert_layer_takes_the_published_cycles() -> None:
    layer = replace(transformer("bert-base"), layers=1)
    time = prefill_time(layer, Parallelism.uniform(256), 512)
    assert time.cycles == 5_898_240
    assert time.seconds(245e6) * 1e3 == pytest.approx(24.07, rel=TOLERANCE)
    assert 26.01 / (time.seconds(245e6) * 1e3) == pytest.approx(1.08, abs=0.005)


def test_gpt2_decodes_in_the_published_cycles() -> None:
    time = decode_time(transformer("gpt2-355m"), Parallelism.uniform(256))
    assert time.cycles == 491_520
    assert time.seconds(245e6) * 1e3 == pytest.approx(2.006, rel=TOLERANCE)
    assert round(time.seconds(245e6) * 1e3, 2) == 2.01


def test_gpt2_prefill_takes_the_published_time() -> None:
    time = prefill_time(transformer("gpt2-355m"), Parallelism.uniform(256), 128)
    assert time.seconds(245e6) * 1e3 == pytest.approx(256.8, rel=TOLERANCE)


def test_the_a100_prefill_of_llama_needs_about_30000_macs() -> None:
    """The published figure is round; the GPU's time is its roofline plus measured launching."""
    llama = transformer("llama2-7b")
    seconds = model_gpu.prefill(gpu("a100"), llama, 128).seconds
    needed = macs_to_match(seconds, llama, 128, 250e6)
    assert needed == pytest.approx(33_295, rel=TOLERANCE)
    assert needed == pytest.approx(30_000, rel=0.12)
    again = prefill_time(llama, balanced(llama, needed, 128), 128).seconds(250e6)
    assert again == pytest.approx(seconds, rel=1e-9)


def test_the_a100_decodes_gpt2_at_the_published_rate() -> None:
    time = model_gpu.decode(gpu("a100"), transformer("gpt2-355m"), 128)
    assert 1 / time.seconds == pytest.approx(115.4, rel=2e-3)


def test_a_token_costs_no_less_than_its_weights() -> None:
    """GPT-2 355M on 460 GB/s: 1,523 tokens a second with 8-bit weights, twice that with 4-bit."""
    gpt2, u280 = transformer("gpt2-355m"), fpga("u280")
    for bits, published in ((8, 1523), (4, 3046)):
        all_layers = gpt2.layers * parameter_bits(gpt2, Format(bits, 8))
        assert u280.bandwidth_bits / all_layers == pytest.approx(published, rel=TOLERANCE)


@pytest.mark.parametrize("name", ["u280", "vck5000", "vhk158", "agilex7"])
def test_fpgas_lose_llama_prefill_to_the_a100(name: str) -> None:
    llama = transformer("llama2-7b")
    assert plan_prefill(fpga(name), llama, W4A8, 128).seconds > (
        model_gpu.prefill(gpu("a100"), llama, 128).seconds
    )


@pytest.mark.parametrize("name", ["u280", "vhk158", "agilex7"])
@pytest.mark.parametrize("size", ["gpt2-355m", "llama2-7b"])
def test_fpgas_with_hbm_win_decoding(name: str, size: str) -> None:
    stack = transformer(size)
    assert plan_decode(fpga(name), stack, W4A8).seconds < (
        model_gpu.decode(gpu("a100"), stack, stack.longest).seconds
    )


def test_the_vck5000_plateaus_on_bandwidth() -> None:
    llama, card = transformer("llama2-7b"), fpga("vck5000")
    slow = evaluate(card, llama, W4A8, "decode", 128, 4_000)
    fast = evaluate(card, llama, W4A8, "decode", 128, 32_000)
    assert slow.time.limit == fast.time.limit == "mem"
    assert slow.seconds / fast.seconds < 1.1
    assert plan_decode(card, llama, W4A8).tight == "bandwidth"


def test_the_vhk158_is_the_best_amd_card_and_the_most_efficient() -> None:
    llama = transformer("llama2-7b")
    plans = {
        d.name: plan_decode(d, llama, W4A8)
        for d in devices().values()
        if isinstance(d, Fpga) and d.name != "stratix10nx"
    }
    assert min(("u280", "vck5000", "vhk158"), key=lambda n: plans[n].seconds) == "vhk158"
    assert min(plans, key=lambda n: plans[n].joules) == "vhk158"


# --- the equations ---------------------------------------------------------------------------


def test_work_is_that_of_the_matrices() -> None:
    stack = transformer("gpt2-355m")
    work = prefill_work(stack, 100)
    assert work["q"] == work["p"] == 100 * 1024 * 1024
    assert work["a1"] == work["a2"] == 100 * 100 * 1024
    assert work["f1"] == work["f2"] == 100 * 1024 * 4096
    token = decode_work(stack, 100)
    assert (token["k"], token["a2"], token["f1"]) == (1024**2, 101 * 1024, 1024 * 4096)


def test_memory_of_a_layer() -> None:
    stack = transformer("gpt2-355m")
    assert parameter_bits(stack, W4A8) == (4 * 1024**2 + 2 * 1024 * 4096) * 4
    assert dram_demand(stack, W4A8, 24) == 24 * parameter_bits(stack, W4A8)
    assert kv_cache_bits(stack, W4A8) == 4 * 1024 * 1024 * 8
    units = Parallelism.uniform(256, layers=2)
    each = 2 * 8 * 256 * 4 + 4 * 1024 * 1024 * 8 + 16 * 512 * 8 + 128 * 1024 * 8
    assert sram_demand(stack, W4A8, units, 128) == 2 * each


@pytest.mark.parametrize(
    ("bits", "width"), [(1, 1), (3, 4), (4, 4), (8, 9), (9, 9), (16, 18), (32, 36), (64, 72)]
)
def test_the_narrowest_port_is_taken(bits: int, width: int) -> None:
    assert port_width(bits) == width


def test_a_word_wider_than_any_port_is_refused() -> None:
    with pytest.raises(
        ModelInputError, match=r"^A word of 80 bits is wider than the widest port of 72\.\nhelp: "
    ):
        port_width(80)


def test_packing_saves_blocks() -> None:
    alone = memory_blocks(1024 * 1024, 128, 4)
    assert alone == math.ceil(1024 * 1024 * 4 / (128 * 18 * 1024)) * 128
    assert memory_blocks(1024 * 1024, 128, 9, packed=2) <= alone * 9 / 8
    # 18 bits a word hold four weights: each of 64 banks needs one block for a shallow tile.
    assert memory_blocks(2 * 256, 64, 18, packed=4) == 16


def test_blocks_grow_with_the_layers_held() -> None:
    stack = transformer("bert-base")
    one = block_demand(stack, W4A8, Parallelism.uniform(64))
    assert block_demand(stack, W4A8, Parallelism.uniform(64, layers=3)) == 3 * one


def test_bandwidth_falls_with_reuse() -> None:
    alone = bandwidth_demand(W4A8, Parallelism.uniform(256), 245e6)
    assert alone == 6 * 256 * 4 * 245e6
    assert bandwidth_demand(W4A8, Parallelism.uniform(256, reuse=8), 245e6) == alone / 8


def test_memory_bounds_the_pipeline() -> None:
    stack = transformer("gpt2-355m")
    units = Parallelism.uniform(100_000)
    memory = memory_cycles(parameter_bits(stack, W4A8), 460e9 * 8, 245e6)
    time = decode_time(stack, units, memory=memory)
    assert time.limit == "mem"
    assert time.cycles == pytest.approx(24 * (1024**2 / 100_000 + memory))


def test_several_devices_divide_the_work() -> None:
    stack, units = transformer("llama2-7b"), Parallelism.uniform(1000)
    alone = prefill_time(stack, units, 128).cycles
    assert distributed_prefill_time(stack, units, 128, tensor=4).cycles == alone / 4
    held = distributed_prefill_time(stack, units, 128, pipeline=2).cycles
    assert held == prefill_time(stack, replace(units, layers=2), 128).cycles
    seconds = communication_seconds(stack, W4A8, 128, 100e9, 0.8)
    assert seconds == 128 * 4096 * 8 / 80e9
    slow = distributed_prefill_time(stack, units, 128, tensor=4, communication=1e9)
    assert slow.limit == "comm"
    assert slow.cycles > 32e9


@settings(max_examples=60, deadline=None)
@given(
    macs=st.integers(1, 10**5),
    length=st.integers(1, 1024),
    layers=st.sampled_from([1, 2, 4, 8, 16, 32]),
)
def test_balance_makes_the_stages_equal(macs: int, length: int, layers: int) -> None:
    stack = transformer("llama2-7b")
    time = prefill_time(stack, balanced(stack, macs, length, layers), length)
    assert len({round(cycles / time.stages["k"], 9) for cycles in time.stages.values()}) == 1
    closed = balanced_prefill_cycles(stack, macs, length, layers)
    assert time.cycles == pytest.approx(closed, rel=1e-9)
    token = decode_time(stack, balanced_decode(stack, macs, length, layers), length)
    assert token.cycles == pytest.approx(balanced_decode_cycles(stack, macs, layers), rel=1e-9)


# --- the search ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, d in devices().items() if isinstance(d, Fpga)])
@pytest.mark.parametrize("stage", ["prefill", "decode"])
def test_a_plan_fits_and_the_next_larger_does_not(name: str, stage: str) -> None:
    card, stack = fpga(name), transformer("gpt2-355m")
    plan = plan_prefill if stage == "prefill" else plan_decode
    found = plan(card, stack, W4A8, 256)
    for demand, limit in fits(card, stack, W4A8, found.parallelism, 256, found.packed).values():
        assert demand <= limit
    assert not evaluate(card, stack, W4A8, stage, 256, found.macs, found.parallelism.layers).tight
    larger = evaluate(card, stack, W4A8, stage, 256, found.macs + 1, found.parallelism.layers)
    assert larger.tight


def test_no_layer_count_beats_the_plan() -> None:
    card, stack = fpga("u280"), transformer("bert-base")
    best = plan_prefill(card, stack, W4A8, 128)
    for layers in (1, 2, 3, 4, 6, 12):
        for macs in (64, 256, 1024, 1400):
            other = evaluate(card, stack, W4A8, "prefill", 128, macs, layers)
            assert other.tight or other.seconds >= best.seconds


def test_hard_blocks_count_by_their_clock() -> None:
    assert fpga("vck5000").macs_per_cycle == 1968 * 3 + 204_800
    assert fpga("u280").macs_per_cycle == 2 * 9024


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: transformer("gpt2"), "There is no transformer named 'gpt2'."),
        (lambda: fpga("a100"), "There is no FPGA named 'a100'."),
        (lambda: gpu("h900"), "There is no GPU named 'h900'."),
        (lambda: parse_format("int8"), "'int8' is no number format."),
        (lambda: Format(0, 8), "The number of weight bits must be positive, but is 0."),
        (
            lambda: prefill_work(transformer("gpt2-355m"), 1025),
            "A sequence of 1025 tokens is longer than the 1024 of gpt2-355m.",
        ),
        (
            lambda: decode_time(transformer("gpt2-355m"), Parallelism.uniform(256), 2000),
            "A sequence of 2000 tokens is longer than the 1024 of gpt2-355m.",
        ),
        (lambda: Parallelism.uniform(0), "The parallelism q must be positive, but is 0."),
        (
            lambda: prefill_time(transformer("bert-base"), Parallelism.uniform(1, layers=13), 8),
            "13 layers at once are more than the 12 the transformer has.",
        ),
        (
            lambda: communication_seconds(transformer("bert-base"), W4A8, 8, 1e9, 1.5),
            "The link efficiency 1.5 is not within (0, 1].",
        ),
        (
            lambda: plan_decode(fpga("stratix10nx"), transformer("llama2-7b"), W4A8),
            "LLaMA2-7B in W4A8 does not fit Intel Stratix 10 NX.",
        ),
        (
            lambda: model_gpu.decode(gpu("rtx2080ti"), transformer("vicuna-13b"), 128),
            "The weights of vicuna-13b do not fit the 11 GB of rtx2080ti.",
        ),
        (
            lambda: replace(transformer("bert-base"), heads=7),
            "The hidden width 768 of bert-base is not a multiple of its 7 heads.",
        ),
    ],
)
def test_bad_input_is_named(call, text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelInputError, match=f"^{re.escape(text)}"):
        call()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("[x\n", "is not TOML"),
        ('[x]\nkind = "asic"\n', "has the kind 'asic'"),
        ('[x]\nkind = "gpu"\ncolour = 1\n', "has unknown fields: colour"),
        ('[x]\nkind = "gpu"\ntflops = 1\n', "is incomplete"),
        (
            '[x]\nkind = "gpu"\ntitle = "X"\ntflops = 0\ndram_gbs = 1\ndram_gb = 1\npower_w = 1\n',
            "tflops of x must be positive, but is 0",
        ),
    ],
)
def test_a_bad_data_file_is_named(tmp_path: Path, content: str, text: str) -> None:
    file = tmp_path / "devices.toml"
    file.write_text(content)
    with pytest.raises(ModelInputError, match=re.escape(text)):
        load_devices(file)


def test_a_missing_data_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelInputError, match=r"cannot be read: No such file or directory\.$"):
        load_transformers(tmp_path / "none.toml")


# --- the command -----------------------------------------------------------------------------


def test_the_command_prints_a_table_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, rows = tmp_path / "m.png", tmp_path / "m.json"
    given = ["--devices", "u280,a100", "--png", str(picture), "--json", str(rows)]
    model.run(given)
    printed = capsys.readouterr().out
    assert "GPT-2 355M, prefill of 128 tokens" in printed
    assert "AMD Alveo U280" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    u280, a100 = json.loads(rows.read_text())
    assert u280["decode_ms"] < a100["decode_ms"]
    assert isinstance(devices()["a100"], Gpu)


def test_the_command_refuses_an_unknown_device() -> None:
    with pytest.raises(ModelInputError, match=r"^There is no device named 'u281'\.\nhelp: known: "):
        model.run(["--devices", "u281"])


def test_every_operator_has_a_parallelism() -> None:
    assert Parallelism.uniform(3).total == 3 * len(OPERATORS)
