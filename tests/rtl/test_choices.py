"""Choices between sums: values that no condition reaches are gone, and one adder does for two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import int8, int32, uint16

N = 64


def both_ways(x: int32[N], a: int32[N], c: int32[N], y: int32[N]):
    for i in range(N):
        t: int32 = x[i]
        if c[i] < 0:
            t += a[i]
        else:
            t -= a[i]
        y[i] = t


def two_addends(x: int32[N], a: int32[N], c: int32[N], y: int32[N]):
    for i in range(N):
        t: int32 = x[i]
        if c[i] > 5:
            t = a[i] - t
        else:
            t = a[i] - c[i]
        y[i] = t


def other_signs(x: int32[N], a: int32[N], c: int32[N], y: int32[N]):
    for i in range(N):
        t: int32 = x[i]
        if c[i] != a[i]:
            t = t + c[i]
        else:
            t = t - a[i]
        y[i] = t


def constants(x: int32[N], a: int32[N], c: int32[N], y: int32[N]):
    for i in range(N):
        t: int32 = x[i]
        if c[i] < 0:
            t += 77
        else:
            t -= 1000
        y[i] = t


def nested(x: int32[N], a: int32[N], c: int32[N], y: int32[N]):
    for i in range(N):
        t: int32 = x[i]
        if c[i] < 0:
            if a[i] < 0:
                t += a[i]
            else:
                t -= a[i]
            t = t ^ c[i]
        else:
            t -= c[i]
            if c[i] < 0:
                t = 9
        y[i] = t


def kept(x: int32[N], a: int32[N], c: int32[N], y: int32[N]):
    """Both sums are read elsewhere too."""
    for i in range(N):
        more: int32 = x[i] + a[i]
        less: int32 = x[i] - a[i]
        y[i] = (more if c[i] < 0 else less) ^ more ^ (less >> 3)


def narrow_sums(x: int32[N], a: int32[N], c: int32[N], y: int32[N]):
    for i in range(N):
        p: int8 = x[i]
        q: uint16 = a[i]
        if c[i] < 0:
            p += q
            q -= p
        else:
            p -= q
            q += p
        y[i] = p * 65536 + q


KERNELS = [both_ways, two_addends, other_signs, constants, nested, kept, narrow_sums]


def arguments(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    x, a, c = (rng.integers(-(2**31), 2**31, N, np.int32) for _ in range(3))
    a[::5] = c[::5]
    c[::7] = rng.integers(0, 10, len(c[::7]))
    return [x, a, c, np.zeros(N, np.int32)]


def built(kernel: Callable[..., Any], pipelined: bool) -> Any:
    s = allo.customize(kernel)
    if pipelined:
        s.pipeline("i")
    return s.build(target="verilog", simulator="jit")


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_choices_between_sums_give_the_same_bits(kernel, pipelined):
    hardware = built(kernel, pipelined)
    reference = allo.customize(kernel).build()
    for seed in range(3):
        ours, theirs = arguments(seed), arguments(seed)
        hardware(*ours)
        reference(*theirs)
        for got, want in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kernel", [both_ways, two_addends, other_signs, constants])
def test_a_choice_between_two_sums_is_one_adder(kernel):
    """A carry chain of 32 bits takes 32 tables; two of them and a row of multiplexers 96."""
    assert built(kernel, True).report.resources["lut"] < 2 * 32 + 32
