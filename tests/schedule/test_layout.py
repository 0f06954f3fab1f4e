"""layout: the order of an argument's elements in memory; calls take and give it as before."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.dialects.boundary.layouts import parse_layout
from allo.errors import LayoutError
from allo.ir.types import Fixed, int7, int32

FIXED = Fixed(12, 4)


def weighted(A: int32[16, 32], B: int7[32, 16], C: FIXED[4, 2, 6], x: int32[16]):
    for t in range(4):
        for i in range(4):
            for j in range(32):
                x[t * 4 + i] += A[t * 4 + i, j] * B[j, t * 4 + i]
                B[j, t * 4 + i] += 1
    for p in range(4):
        for q in range(2):
            for r in range(6):
                C[p, q, r] = C[p, q, r] * 2


def inner(A: int32[16, 32], x: int32[16]):
    for i in range(16):
        for j in range(32):
            x[i] += A[i, j]


def top(A: int32[16, 32], x: int32[16]):
    inner(A, x)


def ordered(s: allo.Schedule) -> None:
    s.layout(s.A, "tiled(4, 8)")
    s.layout(s.B, "transposed")
    s.layout(s.C, "tiled(2, 1, 3)")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"target": "vhls", "mode": "csim"},
        {"target": "verilog", "simulator": "jit", "interface": {"A": "m_axi", "B": "m_axi"}},
    ],
)
def test_calls_are_the_same_on_every_target(options):
    s = allo.customize(weighted)
    ordered(s)
    s.cache(s.A, "t", double_buffer=True)
    rng = np.random.default_rng(1)
    A = rng.integers(-9, 9, (16, 32)).astype(np.int32)
    B = rng.integers(-9, 9, (32, 16)).astype(np.int8)
    C = rng.integers(-50, 50, (4, 2, 6)) / 4
    x = np.zeros(16, np.int32)
    sums, more, twice = (A * B.T.astype(np.int32)).sum(1), B + 1, 2 * C
    s.build(**options)(A, B, C, x)
    np.testing.assert_array_equal(x, sums)
    np.testing.assert_array_equal(B, more)
    np.testing.assert_array_equal(C, twice)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("transposed", lambda i, j: j * 6 + i),
        ("tiled(2, 4)", lambda i, j: ((i // 2) * 2 + j // 4) * 8 + (i % 2) * 4 + j % 4),
        ("tiled(6, 1)", lambda i, j: j * 6 + i),
    ],
)
def test_elements_lie_where_the_layout_says_and_come_back(text, place):
    cells = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)  # elements of three bytes
    layout = parse_layout(text)
    packed = layout.pack(cells, (6, 8))
    flat = packed.reshape(-1, 3)
    for i in range(6):
        for j in range(8):
            np.testing.assert_array_equal(flat[place(i, j)], cells[i, j])
    np.testing.assert_array_equal(layout.unpack(packed, (6, 8)), cells)
    assert str(layout) == text
    assert layout.declared(layout.physical((6, 8))) == (6, 8)


def test_compose_replays_it_on_the_array_of_the_call():
    one = allo.customize(inner)
    one.layout(one.A, "tiled(4, 8)")
    s = allo.customize(top)
    s.compose(one)
    assert 'layouts = {A = "tiled(4, 8)"}' in str(s.module)
    A, x = np.arange(512, dtype=np.int32).reshape(16, 32), np.zeros(16, np.int32)
    s.build()(A, x)
    np.testing.assert_array_equal(x, A.sum(1))


def scaled(X: int32[8, 8], k: int32):
    for i in range(8):
        for j in range(8):
            X[i, j] = X[i, j] * k


def in_turn(A: int32[8, 8], B: int32[8, 8]):
    scaled(A, 3)
    scaled(B, 2)


def each(A: int32[8, 8], B: int32[8, 8]):
    scaled(A, 3)
    scaled["B"](B, 2)


def test_arrays_that_a_function_takes_in_turn_have_one_order():
    s = allo.customize(in_turn)
    with pytest.raises(LayoutError) as caught:
        s.layout(s.B, "tiled(4, 4)")
    assert "B of in_turn cannot have an order of its own: scaled takes A and B in turn" in str(
        caught.value
    )
    assert 'call an instance for each array, such as scaled["B"](…).' in str(caught.value)
    s = allo.customize(each)
    s.layout(s.B, "tiled(4, 4)")
    A, B = np.arange(128, dtype=np.int32).reshape(2, 8, 8)
    s.build()(A, B)
    np.testing.assert_array_equal(A, 3 * np.arange(64).reshape(8, 8))
    np.testing.assert_array_equal(B, 2 * np.arange(64, 128).reshape(8, 8))


def local(A: int32[8, 8], B: int32[8, 8]):
    c: int32[8, 8]
    for i in range(8):
        for j in range(8):
            c[i, j] = A[i, j]
            B[c[i, j], j] = 1


def reshaped(s):
    s.layout(s.A, "transposed")
    s.reshape(s.A, (4, 16))


def twice(s):
    s.layout(s.A, "transposed")
    s.layout(s.A, "tiled(2, 2)")


def spread(s):
    s.partition(s.A, dim=1)
    s.layout(s.A, "transposed")


@pytest.mark.parametrize(
    ("call", "text", "help"),
    [
        (
            lambda s: s.layout(s.A, "tiled(3, 8)"),
            "layout: A cannot be 'tiled(3, 8)': whole tiles do not cover its 8 × 8 elements.",
            "give an extent of the tile for each dimension, which divides it.",
        ),
        (
            lambda s: s.layout(s.A, "tiled(8)"),
            "whole tiles do not cover its 8 × 8",
            "for each dimension",
        ),
        (
            lambda s: s.layout(s.A, "tiled(0, 8)"),
            "whole tiles do not cover its 8 × 8",
            "which divides it",
        ),
        (lambda s: s.layout(s.A, "transpose"), "that is no order.", "did you mean 'transposed'?"),
        (
            reshaped,
            "reshape A: it is transposed in memory.",
            "reshape first, then give the new dimensions a layout.",
        ),
        (
            lambda s: s.layout(s.A, (4, 8)),
            "A cannot be (4, 8): that is no order.",
            "such as 'tiled(4, 8)'",
        ),
        (
            twice,
            "A cannot be 'tiled(2, 2)': it is transposed already.",
            "leave one of the calls out",
        ),
        (
            spread,
            "A cannot be 'transposed': it is partitioned.",
            "then partition the new dimensions",
        ),
        (
            lambda s: s.layout(s.c, "transposed"),
            "c of local is no array argument of local",
            "name an",
        ),
        (
            lambda s: s.layout(s.B, "transposed"),
            "layout B: a memref.store uses the array",
            "affine",
        ),
    ],
)
def test_refusals(call, text, help):
    s = allo.customize(local)
    with pytest.raises(LayoutError) as caught:
        call(s)
    assert text in str(caught.value)
    assert help in str(caught.value)
    assert f"{__file__.rsplit('/', 1)[1]}:" in str(caught.value)
