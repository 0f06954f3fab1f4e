"""LLaMA and OPT on the wide accelerator: logits of the reference, on the CPU and in hardware."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.checkpoints.integer_model import IntegerModel
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.quantize import QuantizedModel, calibrate, quantize
from allo.designs.llm.config import LINEARS, Architecture
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import IDEAL, Channel, predict_step
from allo.designs.llm.wide.host import decode, fill_cache
from allo.designs.llm.wide.memories import channel_words, make_memories
from allo.designs.llm.wide.parameters import Wide, WidthError, check_wide, job_words
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT

ORACLES = Path(__file__).parent / "checkpoints" / "oracles"
LLAMA = Architecture(
    family="llama", layers=2, d=64, heads=4, kv_heads=2, head_dim=16, ffn=96, context=16, vocab=30,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 16, 2) / 16)).tolist()),
)  # fmt: skip
EIGHT = Wide(channels=2, lanes=16, vector=4, heads=2, prefetch=512)
FOUR = Wide(channels=2, lanes=16, vector=4, heads=1, prefetch=512, bits=4)
OTHERS = dataclasses.replace(LLAMA, biases=LINEARS, rotary=LLAMA.rotary[:6])
"""With biases everywhere, and 12 of the 16 elements of a head turned."""
TOKENS = np.array([3, 29, 0, 17, 17, 8], np.int32)


@pytest.fixture(scope="module", params=[EIGHT, FOUR], ids=["w8a8", "w4a8"])
def design(request):
    """The parameters, and the design at 300 MHz, each of its channels with 4 bytes a cycle."""
    wide = request.param
    channels = [MemoryChannel(f"hbm[{n}]", 4, latency=33) for n in range(wide.channels)]
    built = schedule(shape_of(wide), wide).build(
        target="verilog", simulator="jit", clock_mhz=300, memory={"weights": PerBank(channels)}
    )
    return wide, built


def shape_of(wide: Wide) -> Architecture:
    """Words of 32 weights do not fit the narrow feed-forward layer."""
    return LLAMA if wide.bits == 8 else dataclasses.replace(LLAMA, ffn=128)


def assert_says(run, weights, wide: Wide, tokens: np.ndarray) -> None:
    """From an empty cache token by token, and from a cache filled by the reference."""
    session, memories = WideGPT(weights, wide), make_memories(weights, wide)
    for position, token in enumerate(tokens):
        expected = session.feed(np.array([[token]]))[0, -1]
        got = decode(run, weights, memories, int(token), position)
        assert np.array_equal(got.view(np.uint32), expected.view(np.uint32)), position
    filled = make_memories(weights, wide)
    expected = fill_cache(filled, weights, wide, tokens)
    got = decode(run, weights, filled, int(tokens[-1]), len(tokens) - 1)
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("wide", [EIGHT, FOUR], ids=["w8a8", "w4a8"])
def test_logits_on_the_cpu_are_those_of_the_reference(wide: Wide):
    weights = random_weights(shape_of(wide), seed=7, bits=wide.bits)
    assert_says(schedule(shape_of(wide), wide).build(target="simulator"), weights, wide, TOKENS)


def test_logits_of_the_hardware_are_those_of_the_reference(design):
    wide, built = design
    assert_says(built, random_weights(shape_of(wide), seed=7, bits=wide.bits), wide, TOKENS)


@pytest.mark.parametrize("target", ["simulator", "verilog"])
def test_biases_and_positions_of_a_part_of_a_head_are_built(target: str):
    """Logits are those of the reference, which without its biases gives others."""
    options = {"simulator": "jit"} if target == "verilog" else {}
    run = schedule(OTHERS, EIGHT).build(target=target, **options)
    weights = random_weights(OTHERS, seed=7)
    assert_says(run, weights, EIGHT, TOKENS[:4])
    plain = {n: a * (not n.endswith(".b")) for n, a in weights.arrays.items()}
    without = WideGPT(QuantizedModel(OTHERS, plain), EIGHT).feed(TOKENS[None, :1])
    assert np.abs(without - WideGPT(weights, EIGHT).feed(TOKENS[None, :1])).max() > 0.1


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("llama", 4),
        pytest.param("llama3", 8, marks=pytest.mark.slow),
        ("opt", 4),
    ],
)
def test_a_checkpoint_goes_from_its_folder_to_logits_in_hardware(name: str, bits: int):
    """Separate output weights; tied ones, and stretched positions; and another family, with ReLU."""
    loaded = load_checkpoint(ORACLES / name)
    with np.load(ORACLES / name / "oracle.npz") as oracle:
        tokens, values = oracle["tokens"], oracle["values"]
    scales = calibrate(loaded.model, loaded.params, [tokens])
    model = quantize(loaded.model, loaded.params, scales, bits, group=16)
    wide = Wide(channels=2, lanes=8, vector=4, heads=1, prefetch=64, bits=bits)
    built = schedule(loaded.model, wide).build(target="verilog", simulator="jit")
    assert_says(built, model, wide, tokens[0, :4])
    said = WideGPT(model, wide).feed(tokens)
    error = np.sqrt(np.square(said - values).mean()) / values.std()
    assert error < (0.06 if bits == 8 else 0.4)
    # The order of a norm's sums alone is between this and the integer model.
    assert np.abs(said - IntegerModel(model).feed(tokens)).max() < 0.2 * values.std()


def test_loops_start_an_iteration_a_cycle_at_300_mhz(design):
    """All innermost loops but SwiGLU, as asked for; loops over steps hold calls alone."""
    wide, built = design
    found = [loop for function in built.report.functions for loop in _innermost(function.loops)]
    others = {loop.name: loop.ii for loop in found if not loop.name.endswith(("turn", "step"))}
    assert len(others) >= 14
    slower = {name: ii for name, ii in others.items() if ii != 1}
    assert slower == {"S_layer_0.layer*out": wide.gelu_interval}


def _innermost(loops) -> list:
    return [one for loop in loops for one in (_innermost(loop.children) or [loop])]


@pytest.mark.values_elsewhere("cycles alone")
@pytest.mark.parametrize("channel", [Channel(4, 33), IDEAL], ids=["hbm", "ideal"])
def test_cycles_are_foretold_from_the_report(design, channel: Channel):
    wide, built = design
    weights = random_weights(shape_of(wide), seed=7, bits=wide.bits)
    module = built if channel is not IDEAL else built.variant(memory=None)
    memories = make_memories(weights, wide)
    for position in (0, 9):
        decode(module, weights, memories, 1, position)
        foretold = predict_step(built.report, shape_of(wide), wide, position, channel)
        assert abs(foretold.cycles / module.cycles - 1) < 0.03, (foretold, module.cycles)


def test_the_rows_of_a_layer_stand_in_the_order_of_the_hardware():
    """Pairs of rotated elements beside each other; V gates, then V elements that they multiply."""
    weights = random_weights(LLAMA, seed=1)
    wide = dataclasses.replace(EIGHT, channels=1)
    rows = channel_words(weights, wide).view(np.int8).reshape(-1)
    first = rows[: (64 + 2 * 32) * 64].reshape(-1, 64)
    q, k, v = (weights.arrays[f"0.{name}.w"] for name in "qkv")
    assert np.array_equal(first[:4], q[[0, 8, 1, 9]])
    assert np.array_equal(first[64:66], k[[0, 8]])
    assert np.array_equal(first[96:], v)
    at = (128 + 64) * 64
    up = rows[at : at + 192 * 64].reshape(-1, 64)
    assert np.array_equal(up[:4], weights.arrays["0.gate.w"][:4])
    assert np.array_equal(up[4:8], weights.arrays["0.f1.w"][:4])
    assert np.array_equal(up[188:], weights.arrays["0.f1.w"][92:])


def test_llama_1b_has_the_words_of_its_weights():
    """By hand: 60,817,408 weights a layer, four bits each, and a byte for the step of 128."""
    shape = dataclasses.replace(
        LLAMA, layers=16, d=2048, heads=32, kv_heads=8, head_dim=64, ffn=8192, vocab=128_256
    )
    wide = Wide(bits=4, heads=8)
    check_wide(shape, wide)
    jobs, last = job_words(shape, wide)
    weights = 2048 * (2048 + 2 * 512) + 2048 * 2048 + 3 * 2048 * 8192
    assert sum(jobs) * 32 * 64 == weights // 2 + weights // 128
    assert last * 32 * 64 == 128_256 * 2048


@pytest.mark.parametrize(
    ("shape", "wide", "message"),
    [
        ({}, {"heads": 4}, "The 4 heads at once do not divide the number of heads of keys and values, 2."),
        ({}, {"vector": 1}, "Rotary positions turn pairs, and a vector has 1 elements."),
        ({"head_dim": 32, "rotary": LLAMA.rotary * 2}, {}, "The wide accelerator does not have heads that do "
         "not fill the hidden width, which this model of the family 'llama' has."),
        ({"gated": False}, {}, "The wide accelerator does not have SiLU without a gate, which this model of "
         "the family 'llama' has."),
    ],
    ids=["heads", "vector", "width", "activation"],
)  # fmt: skip
def test_what_does_not_fit_is_refused(shape: dict, wide: dict, message: str):
    changed = dataclasses.replace(LLAMA, **shape)
    with pytest.raises(WidthError) as error:
        check_wide(changed, dataclasses.replace(EIGHT, **wide))
    assert error.value.args[0] == message


def test_an_encoder_is_refused():
    model = load_checkpoint(ORACLES / "bert").model
    with pytest.raises(WidthError) as error:
        check_wide(model, EIGHT)
    assert str(error.value).startswith(
        "The wide accelerator does not have attention in both directions, as of an encoder, which this "
        "model of the family 'bert' has.\nhelp: build an encoder by the accelerator for blocks, "
    )
