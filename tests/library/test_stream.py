"""Streaming units: each alone against NumPy in hardware, joined, and refused where a folding does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import OptionError
from allo.ir.types import Stream, UInt
from allo.library.nn import stream
from allo.library.nn.stream.steps import COMPARED, LOOKED_UP, SCALED, SEARCHED
from allo.tflite.fixedpoint import divided, high

HARDWARE = {"target": "verilog", "simulator": "jit", "device": "xc7", "clock_mhz": 100}


def words(elements: np.ndarray, bits: int = 8) -> list[int]:
    """Each row as one number, its first element in the lowest bits."""
    mask = (1 << bits) - 1
    return [sum((int(e) & mask) << (bits * k) for k, e in enumerate(row)) for row in elements]


def through(unit: Any, given: list[int], count: int) -> tuple[list[int], Any]:
    """What a unit of one stream in and one out makes of words, in hardware."""
    come_bits, go_bits = (unit.ports[port].bits for port in ("come", "go"))

    @df.region()
    def alone(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        @df.kernel(mapping=[1], args=[])
        def stage():
            unit(come, go)

    s = df.customize(alone)
    s.compose(unit)
    module = s.build(**HARDWARE)
    kinds = [
        np.dtype(f"uint{max(8, 1 << (bits - 1).bit_length())}") if bits <= 64 else object
        for bits in (come_bits, go_bits)
    ]
    result = np.zeros(count, kinds[1])
    module(np.array(given, kinds[0]), result)
    return [int(word) for word in result], module


def windows_of(images: np.ndarray, shape: stream.Window, fill: int) -> np.ndarray:
    """``[image, row, column, window row, window column, channel]``."""
    (kh, kw), (sh, sw), (above, left) = shape.kernel, shape.stride, shape.before
    rows, columns = shape.places
    reach = (rows - 1) * sh + kh, (columns - 1) * sw + kw
    padded = np.full((len(images), *reach, images.shape[3]), fill, images.dtype)
    inside = padded[:, above:, left:][:, : images.shape[1], : images.shape[2]]
    inside[...] = images[:, : inside.shape[1], : inside.shape[2]]
    return np.stack(
        [
            np.stack(
                [padded[:, y * sh : y * sh + kh, x * sw : x * sw + kw] for x in range(columns)], 1
            )
            for y in range(rows)
        ],
        1,
    )


@pytest.mark.parametrize(
    ("shape", "groups"),
    [
        (stream.Window((6, 6, 4), (6, 6), before=(1, 1)), 1),
        (stream.Window((7, 6, 4), (3, 3), kernel=(2, 3), stride=(2, 2), before=(0, 1)), 2),
    ],
)
def test_windows_go_in_every_cycle(shape: stream.Window, groups: int) -> None:
    images = np.random.default_rng(0).integers(-128, 128, (2, *shape.image)).astype(np.int8)
    unit = stream.window(shape, simd=2, samples=2, fill=-5, groups=groups)
    wanted = windows_of(images, shape, -5)
    if groups > 1:
        parts = wanted.reshape(*wanted.shape[:-1], 2, 2)
        wanted = np.moveaxis(parts, -2, 3)
    expected = words(wanted.reshape(-1, 2))
    found, module = through(unit, words(images.reshape(-1, 2)), len(expected))
    assert found == expected
    assert module.cycles == module.report.cycles
    assert module.cycles < len(expected) + 2 * shape.slots * shape.image[1] + 8
    found[7] ^= 1
    assert found != expected


def test_two_products_on_a_multiplier() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.integers(-128, 128, (4, 6)).astype(np.int8)
    matrix[1] = -128  # the product of the extremes, beside others
    vectors = rng.integers(-128, 128, (5, 6)).astype(np.int8)
    vectors[2] = -128
    sums = vectors.astype(int) @ matrix.T.astype(int)
    bits = stream.sum_bits(matrix, -128, 127)
    for pe, blocks in ((2, 3), (1, 3)):
        unit = stream.matrix_vector(matrix, pe=pe, simd=3, vectors=5)
        expected = words(sums.reshape(-1, pe), bits)
        found, module = through(unit, words(vectors.reshape(-1, 3)), len(expected))
        assert found == expected
        assert module.report.resources["dsp"] == blocks
        assert module.cycles == module.report.cycles < 5 * 24 // (3 * pe) + 10


def test_a_folding_that_does_not_divide() -> None:
    matrix = np.ones((12, 9), np.int8)
    with pytest.raises(OptionError, match="pe of layer is 5, which does not divide 12") as caught:
        stream.matrix_vector(matrix, pe=5, simd=3, name="layer")
    assert "give 4 or 6, the nearest that do" in str(caught.value)


def test_ends_of_a_stream_have_equal_words() -> None:
    network = stream.Network("two")
    network.add(stream.source(1, (4, 4, 4), 2), image="x", go="pixels")
    with pytest.raises(
        OptionError, match="Stream pixels has words of 16 bits at source, and of 32"
    ):
        network.add(stream.thin((4, 4, 4), (2, 2), simd=4), come="pixels", go="some")


def layer(places: int) -> stream.Product:
    rounding = stream.Rounding(1, 0, 8, wide=32)
    return stream.Product("slow", ("x",), np.ones((8, 8), np.int8), places, 0, 20, rounding)


def test_the_cheapest_folding_of_a_rate() -> None:
    some = {"dsp": 64, "lut": 9000, "bram": 20}
    folds = [
        stream.choose([layer(100)], stream.Target(fps, 100.0, some))["slow"]
        for fps in (15_000, 200_000)
    ]
    assert [fold.cycles for fold in folds] == [6400, 400]
    assert folds[0].dsp < folds[1].dsp


def test_a_rate_that_no_folding_meets() -> None:
    some = {"dsp": 64, "lut": 9000, "bram": 20}
    with pytest.raises(OptionError, match="No folding of layer slow takes 50 cycles") as caught:
        stream.choose([layer(100)], stream.Target(2_000_000, 100.0, some))
    assert "it takes 100 at least" in str(caught.value)
    assert "ask for at most 1,000,000 images a second" in str(caught.value)
    with pytest.raises(OptionError, match="of 2 dsp they take 10 at least, layer slow 10 of"):
        stream.choose([layer(100)], stream.Target(200_000, 100.0, some | {"dsp": 2}))


def test_ends_round_as_tflite_does() -> None:
    rng = np.random.default_rng(2)
    sums = rng.integers(-60_000, 60_000, (50, 4))
    sums[0], sums[1] = 59_999, -60_000
    bias, factor = np.array([0, 900, -77, 5]), rng.integers(1 << 30, 1 << 31, 4)
    right = np.array([6, 9, 0, 8])
    half, sign = (1 << right) >> 1, (right > 0).astype(int)
    rounding = stream.Rounding(factor, half, right, sign=sign, zero=-3, low=-100)
    unit = stream.requantise(17, rounding, bias, channels=4, pe=2, simd=4, vectors=50, bits=19)
    expected = divided(high(sums + bias, factor), right)
    found, _ = through(unit, words(sums.reshape(-1, 2), 17), 50)
    assert found == words(np.clip(expected - 3, -100, 127))


LEVELS = stream.Element(3, signed=False)
LIMITS = np.sort(np.random.default_rng(3).integers(-60, 60, (4, 6)), 1)
FUNCTIONS = {
    COMPARED: stream.Steps(LEVELS, LIMITS, 1, np.array([0, 1, 0, 1])),
    SEARCHED: stream.Steps(LEVELS, LIMITS, 1, np.array([0, 1, 0, 1])),
    LOOKED_UP: stream.Steps(LEVELS, table=np.arange(128)[None] * 7 % 8, low=-64),
    SCALED: stream.Steps(stream.Element(9), offset=np.array([5, -3, 0, 9]), factor=3, right=1),
}


@pytest.mark.parametrize("method", FUNCTIONS)
def test_levels_of_sums(method: str) -> None:
    function = FUNCTIONS[method]
    sums = np.random.default_rng(4).integers(-64, 64, (9, 4))
    sums[0], sums[1] = LIMITS[:, 2], LIMITS[:, 2] - 1
    unit = stream.steps(
        stream.Element(7), function, channels=4, pe=2, simd=4, lanes=2, vectors=9, method=method
    )
    if function.table is not None:
        expected = (sums + 64) * 7 % 8
    elif function.offset is not None:
        expected = (sums * 3 + function.offset) >> 1
    else:
        reached = (sums[..., None] >= LIMITS).sum(-1)
        expected = 1 + np.where(function.falling, 6 - reached, reached)
    found, module = through(unit, words(sums.reshape(-1, 2), 7), 9)
    assert found == words(expected, function.element.bits)
    assert module.cycles == module.report.cycles
    assert found != words(expected[:, ::-1], function.element.bits)


@pytest.mark.parametrize(("least", "most"), [(-1, 1), (-8, 7)])
def test_products_of_few_bits(least: int, most: int) -> None:
    rng = np.random.default_rng(5)
    matrix = rng.integers(least, most + 1, (4, 6))
    matrix[0], matrix[1] = least, most
    vectors = rng.integers(0, 16, (5, 6))
    vectors[0] = 15
    kinds = {"element": stream.Element(4, signed=False), "weight": stream.Element.of(least, most)}
    unit = stream.matrix_vector(matrix, pe=2, simd=3, vectors=5, **kinds)
    sums = vectors @ matrix.T
    expected = words(sums.reshape(-1, 2), stream.sum_bits(matrix, 0, 15))
    found, module = through(unit, words(vectors.reshape(-1, 3), 4), len(expected))
    assert found == expected
    assert module.report.resources.get("dsp", 0) == 0
    assert found != words((sums + 1).reshape(-1, 2), stream.sum_bits(matrix, 0, 15))


@pytest.mark.parametrize("adds", [True, False])
def test_pools_of_levels(adds: bool) -> None:
    elements = np.random.default_rng(6).integers(
        0, 8, (3, 2, 5, 2)
    )  # [place, word, window, channel]
    unit = stream.pooled(4, 5, element=LEVELS, adds=adds, simd=2, vectors=3)
    expected = elements.sum(2) if adds else elements.max(2)
    found, _ = through(unit, words(elements.reshape(-1, 2), 3), 6)
    assert found == words(expected.reshape(-1, 2), 6 if adds else 3)
