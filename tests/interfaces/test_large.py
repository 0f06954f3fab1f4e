"""Arrays that would be copied whole, and that the device cannot hold."""

from __future__ import annotations

from typing import Any

import pytest

import allo
from allo.errors import CapacityError
from allo.ir.types import int32

from .kernels import build

N = 4096


def blocks(A: int32[16, 1024, N], B: int32[N]):
    for t in range(16):
        for i in range(1024):
            for j in range(N):
                B[j] += A[t, i, j]
        for i in range(1024):
            for j in range(N):
                A[t, 1023 - i, j] = B[j]


def mirrored(A: int32[N, N], B: int32[N]):
    for i in range(N):
        for j in range(N):
            A[N - 1 - i, j] = A[i, j] + B[j]


def decided(A: int32[N, N], x: int32[N]):
    for i in range(N):
        if A[x[i], i] > 3:
            A[x[i], N - 1 - i] = 2


def copied(A: int32[N, N], B: int32[N, N]):
    for i in range(N):
        for j in range(N):
            B[i, j] = A[i, j]


ROOM = "s.cache it at a loop whose iterations use at most 44,679,168 bytes"
COPY = {"A": {"kind": "m_axi", "copy": True}, "B": "m_axi"}
LOOP_I = 'at loop i, where it takes 16,384 bytes: s.cache(s.A, at="i").'
CASES = [
    # Loops at which accesses move apart are not named: i of two nests, and i that runs both ways.
    (blocks, "m_axi", "it is stored in another order than loaded", "268,435,456", ROOM),
    (mirrored, "m_axi", "it is stored in another order", "67,108,864", ROOM),
    (decided, "m_axi", "an element of it decides", "67,108,864", ROOM),
    (copied, COPY, "its interface asks for it", "67,108,864", LOOP_I),
]


@pytest.mark.parametrize(("kernel", "interface", "why", "size", "help"), CASES)
def test_an_array_that_does_not_fit_is_refused(
    kernel: Any, interface: Any, why: str, size: str, help: str
) -> None:
    with pytest.raises(CapacityError, match="A is copied whole, as ") as e:
        build(allo.customize(kernel), interface)
    text = str(e.value)
    assert why in text and f"takes {size} bytes" in text and "^" in text
    assert "a U280 (xcu280) holds 44,679,168 on chip." in text and help in text


def test_cpp_that_copies_it_whole_is_refused_and_without_copies_it_is_not() -> None:
    s = allo.customize(copied)
    with pytest.raises(CapacityError, match="A is copied whole, as wrap_io=True asks for it") as e:
        s.build(target="vitis_hls")
    assert "build with wrap_io=False, so that loops reach it where it lies; " in str(e.value)
    assert LOOP_I in str(e.value) and "^" in str(e.value)
    assert "load_buf" not in s.build(target="vitis_hls", wrap_io=False).hls_code


def test_what_is_advised_builds() -> None:
    s = allo.customize(copied)
    s.cache(s.A, at="i")
    assert "A_cache" in build(s, "m_axi").design.verilog
