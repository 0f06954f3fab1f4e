"""The wide accelerator as a Vitis project: csim has the reference's bits, 355M is written."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from allo.designs.llm.config import GPTConfig
from allo.designs.llm.plan.vitis import memories, vitis_project
from allo.designs.llm.wide.memories import logits_of, make_memories
from allo.designs.llm.wide.parameters import Wide, WidthError
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.errors import DTypeWarning, UnsupportedOpError

CONFIG = GPTConfig(layers=1, d=64, heads=4, ffn=128, context=8, vocab=30)
TOKENS = np.array([3, 29, 17], np.int32)
LARGE = GPTConfig(layers=24, d=1024, heads=16, ffn=4096, context=256, vocab=50_257)


@pytest.mark.parametrize("bits", [8, 4])
def test_csim_has_the_bits_of_the_reference(tmp_path: Path, bits: int) -> None:
    wide = Wide(channels=2, lanes=16, vector=4, heads=2, prefetch=64, bits=bits)
    weights = random_weights(CONFIG, seed=7, bits=bits)
    module = vitis_project(CONFIG, wide, tmp_path / "wide", mode="csim")
    for channel in range(2):
        assert f"  loader_{channel}(weights_{channel}, words_{channel});" in module.hls_code
    filled = make_memories(weights, wide)
    expected = WideGPT(weights, wide).forward(TOKENS[None])[0]
    for position, token in enumerate(TOKENS):
        module(int(token), position, *filled.arguments())
        got = logits_of(filled, CONFIG)
        assert np.array_equal(got.view(np.uint32), expected[position].view(np.uint32)), position


def test_a_project_of_gpt2_355m_leaves_its_arrays_outside(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DTypeWarning)
        vitis_project(LARGE, Wide(), tmp_path / "wide")
    kernel = (tmp_path / "wide" / "kernel.cpp").read_text()
    assert "void wide_step(" in kernel
    assert kernel.count("hls::stream< ap_uint<512> > words_") == 32
    assert "for (int load = 0; load < 172592; load++)" in kernel
    # The arrays stay outside: nothing of 353 MB is declared in the kernel.
    assert "ap_uint<512> buf" not in kernel
    host = (tmp_path / "wide" / "host.cpp").read_text()
    placed = (tmp_path / "wide" / "wide_step.cfg").read_text().splitlines()[1:]
    # A channel of HBM holds one channel's weights and nothing else, behind a port of its own.
    for channel in range(32):
        assert f"m_axi port=weights_{channel} offset=slave bundle=gmem{channel}\n" in kernel
        assert f"\n  loader_{channel}(weights_{channel}, words_{channel});" in kernel
        assert f"Bytes arg_weights_{channel}({172592 * 64});" in host
        assert [p for p in placed if p.endswith(f"HBM[{channel}]")] == [
            f"sp=wide_step_1.weights_{channel}:HBM[{channel}]"
        ]
    assert f'read_file("input2.data", arg_weights_31, {31 * 172592 * 64});' in host
    units = {f"{name}_{u}" for name in ("exponents", "keys", "values") for u in range(4)}
    others = {"affine", "norm_table", "token_table", "position_table", "attends", "gelus", "logits"}
    in_ddr = {line.split(".")[1].split(":")[0] for line in placed if ":DDR[" in line}
    assert in_ddr == units | others and len(placed) == 32 + len(in_ddr)
    # Two processes may not share a port of a dataflow region.
    calls = re.findall(r"^  \w+\((.*)\);", kernel.split('extern "C"')[1], re.M)
    taken = [port for call in calls for port in call.split(", ") if port in in_ddr]
    assert sorted(taken) == sorted(in_ddr)


def masters(kernel: str) -> set[str]:
    """The AXI masters of a kernel, by their bundles."""
    return set(re.findall(r"m_axi port=\w+ offset=slave bundle=(\w+)", kernel))


def test_masters_are_counted() -> None:
    two = "\n".join(
        f"#pragma HLS interface m_axi port={p} offset=slave bundle={b}"
        for p, b in ("am", "bn", "cn")
    )
    assert masters(two) == {"m", "n"}


def test_one_reader_a_channel_leaves_nothing_for_the_ddr() -> None:
    assert memories(Wide(channels=4, cache="channels")) == {
        "weights": [f"HBM[{channel}]" for channel in range(4)]
    }


def test_a_channel_with_one_reader_is_one_master(tmp_path: Path) -> None:
    """Weights, tables, keys, values and logits: nothing has a master beside the channels'."""
    wide = Wide(4, lanes=16, vector=4, heads=2, prefetch=64, cache="channels", cache_prefetch=8)
    module = vitis_project(CONFIG, wide, tmp_path / "wide", mode="csim")
    assert masters(module.hls_code) == {f"gmem{channel}" for channel in range(4)}
    weights = random_weights(CONFIG, seed=7)
    filled = make_memories(weights, wide)
    expected = WideGPT(weights, wide).forward(TOKENS[None])[0]
    for position, token in enumerate(TOKENS):
        module(int(token), position, *filled.arguments())
        got = logits_of(filled, CONFIG)
        assert np.array_equal(got.view(np.uint32), expected[position].view(np.uint32)), position


def test_gpt2_355m_with_one_reader_a_channel_has_32_masters(tmp_path: Path) -> None:
    """As many as the HBM of a U280 has ports, and none in the DDR."""
    wide = Wide(heads=16, prefetch=2048, cache="channels", cache_prefetch=256)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DTypeWarning)
        vitis_project(LARGE, wide, tmp_path / "wide")
    kernel = (tmp_path / "wide" / "kernel.cpp").read_text()
    assert masters(kernel) == {f"gmem{channel}" for channel in range(32)}
    placed = (tmp_path / "wide" / "wide_step.cfg").read_text()
    assert placed.count(":HBM[") == 32 and ":DDR[" not in placed


def test_words_wider_than_vitis_has_are_refused(tmp_path: Path) -> None:
    """Factors and biases of V = 128 are words of 8,192 bits."""
    wide = Wide(channels=2, lanes=128, vector=128, heads=1, prefetch=64)
    shape = GPTConfig(layers=1, d=1024, heads=8, ffn=1024, context=8, vocab=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(
            UnsupportedOpError, match="integers of up to 4,096 bits, and here is one of 8,192"
        ):
            vitis_project(shape, wide, tmp_path / "wide", mode="hw")


def test_more_channels_than_the_card_has_are_refused(tmp_path: Path) -> None:
    wide = Wide(channels=64, lanes=16, vector=4, heads=2)
    with pytest.raises(WidthError) as caught:
        vitis_project(LARGE, wide, tmp_path / "wide")
    assert str(caught.value) == (
        "The weights are in 64 channels, and the HBM of a U280 has 32.\n"
        "help: ask for at most 32 channels, with more lanes."
    )
