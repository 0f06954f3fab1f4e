"""Blocked attention against NumPy in float64, and the CPU's bits in the C++ and in hardware."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.errors import CompileTimeError
from allo.ir.types import float16, float32, int32
from allo.library import nn
from allo.library.nn import masks
from tests.figures_plugin import Held
from tests.library.support import builds, floats, int8s

HEADS, D = 2, 8
SLOPES = (0.5, 0.25)
SCALE, GAIN = np.float32(4e-4), np.float32(0.75)

# The same modifications in Python; None hides the key.
MODIFICATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "everything": (masks.everything, lambda s, h, i, j: s),
    "causal": (masks.causal, lambda s, h, i, j: s if j <= i else None),
    "window": (masks.sliding_window(3), lambda s, h, i, j: s if i - 3 < j <= i else None),
    "prefix": (masks.prefix(4), lambda s, h, i, j: s if j <= i or j < 4 else None),
    "alibi": (
        masks.alibi(SLOPES),
        lambda s, h, i, j: s + SLOPES[h] * (j - i) if j <= i else None,
    ),
}


def attention(
    Q, K, V, modify: Callable[..., Any], scale: float | None = None, heads: int = HEADS
) -> np.ndarray:
    """Softmax of whole rows, in float64; a row without a key is zeros."""
    width, first = Q.shape[-1] // heads, len(K) - len(Q)
    Z = np.zeros(Q.shape)
    for h in range(heads):
        q, k, v = (x[:, h * width : (h + 1) * width].astype(np.float64) for x in (Q, K, V))
        scores = q @ k.T * (width**-0.5 if scale is None else scale)
        for i, row in enumerate(scores):
            seen = [modify(s, h, first + i, j) for j, s in enumerate(row)]
            weights = np.exp(np.array([-np.inf if s is None else s for s in seen]))
            Z[i, h * width : (h + 1) * width] = weights @ v / max(weights.sum(), 1e-300)
    return Z


def bits(array: Any) -> np.ndarray:
    return np.asarray(array).view(np.uint8)


def check_targets(s: Any, args: list[Any], folder: Any) -> Any:
    """The CPU's bits in csim and in hardware, and the predicted cycles; the hardware."""
    expected = s.build()(*args)
    got = np.zeros_like(expected)
    s.build(target="vitis_hls", mode="csim", project=str(folder / "flash.prj"))(*args, got)
    np.testing.assert_array_equal(bits(got), bits(expected))
    rtl = s.build(target="verilog", simulator="jit")
    np.testing.assert_array_equal(bits(rtl(*args)), bits(expected))
    assert rtl.report.cycles in (None, rtl.cycles)
    return rtl


@pytest.mark.parametrize("name", list(MODIFICATIONS))
def test_every_modification(name: str) -> None:
    modify, meaning = MODIFICATIONS[name]
    Q, K, V = floats(5, D), floats(7, D, seed=1), floats(7, D, seed=2)
    for module in builds(nn.flash_attention, [float32, HEADS, 5, 7, D, 2, 3, modify]):
        np.testing.assert_allclose(module(Q, K, V), attention(Q, K, V, meaning), atol=1e-5)


@pytest.mark.parametrize(
    ("L", "T", "BQ", "BK"), [(1, 1, 1, 1), (6, 6, 3, 2), (4, 9, 8, 16), (3, 3, 2, 2)]
)
def test_lengths_and_blocks(L: int, T: int, BQ: int, BK: int) -> None:
    Q, K, V = floats(L, D, scale=4.0), floats(T, D, seed=1), floats(T, D, seed=2)
    expected = attention(Q, K, V, MODIFICATIONS["causal"][1])
    for module in builds(nn.flash_attention, [float32, HEADS, L, T, D, BQ, BK, masks.causal]):
        np.testing.assert_allclose(module(Q, K, V), expected, atol=1e-5)


def test_scores_far_apart_and_a_query_that_sees_nothing() -> None:
    def later(score: float32, head: int32, query: int32, key: int32) -> float32:
        return score * 40.0 if key < query else -np.inf

    Q, K, V = floats(6, D, scale=9.0), floats(6, D, seed=1), floats(6, D, seed=2)
    Q *= np.float32(0.5)
    expected = attention(Q, K, V, lambda s, h, i, j: s * 40 if j < i else None)
    s = nn.flash_attention.default_schedule([float32, HEADS, 6, 6, D, 2, 4, later])
    got = s.build()(Q, K, V)
    assert not got[0].any()
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_float16_in_and_out(tmp_path) -> None:
    modify, meaning = MODIFICATIONS["alibi"]
    args = [floats(n, D, seed=n).astype(np.float16) for n in (5, 6)]
    Q, K, V = args[0], args[1], (args[1] * 2).astype(np.float16)
    s = nn.flash_attention.default_schedule([float16, HEADS, 5, 6, D, 2, 4, modify])
    got = s.build()(Q, K, V)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got, attention(Q, K, V, meaning), atol=2e-3)
    check_targets(s, [Q, K, V], tmp_path)


@pytest.mark.parametrize("name", ["causal", "alibi"])
def test_int8_within_one_level(name: str, tmp_path) -> None:
    modify, meaning = MODIFICATIONS[name]
    Q, K, V = int8s(5, D), int8s(7, D, seed=1), int8s(7, D, seed=2)
    s = nn.flash_attention_int8.default_schedule([HEADS, 5, 7, D, 2, 3, modify])
    got = s.build()(Q, K, V, SCALE, GAIN)
    expected = attention(Q, K, V, meaning, float(SCALE)) * GAIN
    assert np.abs(got - expected).max() < 1.0
    check_targets(s, [Q, K, V, SCALE, GAIN], tmp_path)


def test_float32_has_the_same_bits_everywhere(tmp_path, figures: Held) -> None:
    args = [floats(5, D), floats(7, D, seed=1), floats(7, D, seed=2)]
    template = [float32, HEADS, 5, 7, D, 2, 3, masks.alibi(SLOPES)]
    plain = allo.customize(nn.flash_attention, instantiate=template)
    s = nn.flash_attention.default_schedule(template)
    np.testing.assert_array_equal(bits(plain.build()(*args)), bits(s.build()(*args)))
    figures.hold("library.flash.plain.cycles", plain.build(target="verilog").report.cycles)
    figures.hold("library.flash.cycles", check_targets(s, args, tmp_path).cycles)


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("name", ["window", "prefix"])
def test_masks_and_odd_heads_in_hardware(name: str, heads: int, tmp_path) -> None:
    """The window hides whole blocks of keys; the last blocks of queries and of keys are not full."""
    modify, meaning = MODIFICATIONS[name]
    args = [floats(5, 6), floats(7, 6, seed=1), floats(7, 6, seed=2)]
    s = nn.flash_attention.default_schedule([float32, heads, 5, 7, 6, 2, 3, modify])
    rtl = check_targets(s, args, tmp_path)
    np.testing.assert_allclose(rtl(*args), attention(*args, meaning, heads=heads), atol=1e-5)


@pytest.mark.parametrize(("name", "heads"), [("window", 3), ("prefix", 1)])
def test_int8_masks_and_odd_heads_in_hardware(name: str, heads: int, tmp_path) -> None:
    modify, meaning = MODIFICATIONS[name]
    Q, K, V = int8s(5, 6), int8s(7, 6, seed=1), int8s(7, 6, seed=2)
    s = nn.flash_attention_int8.default_schedule([heads, 5, 7, 6, 2, 3, modify])
    rtl = check_targets(s, [Q, K, V, SCALE, GAIN], tmp_path)
    expected = attention(Q, K, V, meaning, float(SCALE), heads) * GAIN
    assert np.abs(rtl(Q, K, V, SCALE, GAIN) - expected).max() < 1.0


@pytest.mark.parametrize(("name", "heads", "length"), [("window", 3, 7), ("prefix", 1, 5)])
def test_one_query_behind_masks_in_hardware(name: str, heads: int, length: int, tmp_path) -> None:
    modify, meaning = MODIFICATIONS[name]
    q, K, V = floats(6), floats(7, 6, seed=1), floats(7, 6, seed=2)
    s = nn.flash_decode.default_schedule([float32, heads, 7, 6, 3, modify])
    rtl = check_targets(s, [q, K, V, length], tmp_path)
    expected = attention(q[None], K[:length], V[:length], meaning, heads=heads)[0]
    np.testing.assert_allclose(rtl(q, K, V, length), expected, atol=1e-5)


@pytest.mark.parametrize("length", [1, 3, 7])
def test_one_query_against_a_cache(length: int) -> None:
    q, K, V = floats(D), floats(7, D, seed=1), floats(7, D, seed=2)
    modify, meaning = MODIFICATIONS["window"]
    expected = attention(q[None], K[:length], V[:length], meaning)[0]
    for module in builds(nn.flash_decode, [float32, HEADS, 7, D, 3, modify]):
        np.testing.assert_allclose(module(q, K, V, length), expected, atol=1e-5)


def test_one_query_in_hardware(tmp_path) -> None:
    q, K, V = int8s(D), int8s(7, D, seed=1), int8s(7, D, seed=2)
    s = nn.flash_decode_int8.default_schedule([HEADS, 7, D, 3, masks.causal])
    got = s.build()(q, K, V, 5, SCALE, GAIN)
    meaning = MODIFICATIONS["causal"][1]
    expected = attention(q[None], K[:5], V[:5], meaning, float(SCALE))[0] * GAIN
    assert np.abs(got - expected).max() < 1.0
    check_targets(s, [q, K, V, 5, SCALE, GAIN], tmp_path)


def test_the_interpreter_agrees() -> None:
    args = [floats(3, D), floats(4, D, seed=1), floats(4, D, seed=2)]
    template = [float32, HEADS, 3, 4, D, 2, 3, masks.causal]
    meaning = allo.interpret(nn.flash_attention, instantiate=template)
    got = allo.customize(nn.flash_attention, instantiate=template).build()(*args)
    np.testing.assert_allclose(np.asarray(meaning(*args)), got, atol=1e-5)


def test_in_a_kernel_with_its_default_schedule() -> None:
    def top(Q: float32[4, 8], K: float32[4, 8], V: float32[4, 8]) -> float32[4, 8]:
        return nn.flash_attention[float32, 2, 4, 4, 8, 2, 2, nn.masks.causal](Q, K, V)

    args = [floats(4, D), floats(4, D, seed=1), floats(4, D, seed=2)]
    template = [float32, 2, 4, 4, 8, 2, 2, masks.causal]
    s = allo.customize(top)
    s.compose(nn.flash_attention, instantiate=template)
    alone = nn.flash_attention.default_schedule(template).build(target="verilog")
    composed = s.build(target="verilog", simulator="jit")
    expected = attention(*args, MODIFICATIONS["causal"][1])
    np.testing.assert_allclose(composed(*args), expected, atol=1e-5)
    assert composed.cycles <= alone.report.cycles + 100


def test_heads_that_do_not_divide_the_width() -> None:
    with pytest.raises(CompileTimeError, match="3 does not divide 8"):
        allo.customize(nn.flash_attention, instantiate=[float32, 3, 4, 4, 8, 2, 2, masks.causal])
