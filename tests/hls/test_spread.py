"""Arrays on several channels in HLS C++: a port for each channel, its lines, host programs, connectivity."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.hls.errors import HlsConfigError
from allo.errors import PlacementError
from allo.ir.types import (
    Fixed,
    Int,
    Stream,
    Struct,
    UInt,
    bool,
    float16,
    float32,
    float64,
    int8,
    int32,
)
from tests.hls.test_split_arguments import compile_here

RNG = np.random.default_rng(31)
ROWS, N = 6, 64


def scaled(A: int32[ROWS, N], B: int32[ROWS, N]):
    """B is read and written; its even columns stay."""
    for i in range(ROWS):
        for j in range(N // 2):
            B[i, 2 * j + 1] = B[i, 2 * j + 1] + 3 * A[i, N - 1 - j]


def placed(kernel: Any, **where: str) -> Any:
    s = allo.customize(kernel)
    for name, channels in where.items():
        s.place(getattr(s, name), channels)
    return s


def check(s: Any, *args: np.ndarray, **request: Any) -> Any:
    """csim and the CPU build leave the same in every array; the module."""
    mod = s.build(target="vitis_hls", mode="csim", **request)
    mine, theirs = [a.copy() for a in args], [a.copy() for a in args]
    mod(*mine)
    s.build()(*theirs)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    assert any((a != b).any() for a, b in zip(mine, args, strict=True))
    return mod


def matrices() -> tuple[np.ndarray, np.ndarray]:
    A, B = RNG.integers(-1000, 1000, (2, ROWS, N)).astype(np.int32)
    return A, B


@pytest.mark.parametrize("wrap_io", [True, False])
def test_csim_equals_the_cpu_and_each_channel_has_a_port(wrap_io: bool, tmp_path: Path) -> None:
    s = placed(scaled, A="hbm[0:4]", B="hbm[2:5]")  # three channels, and two that both arrays have
    mod = check(s, *matrices(), wrap_io=wrap_io, project=str(tmp_path))
    ports = re.findall(r"m_axi port=(\w+) offset=slave bundle=(\w+)", mod.hls_code)
    where = [("A", c, c) for c in range(4)] + [("B", c, 2 + c) for c in range(3)]
    assert ports == [(f"{name}_{c}", f"hbm{channel}") for name, c, channel in where]
    assert (tmp_path / "scaled.cfg").read_text().splitlines() == [
        "[connectivity]",
        *(f"sp=scaled_1.{name}_{c}:HBM[{channel}]" for name, c, channel in where),
    ]
    word = "ap_uint<512>" if wrap_io else "int32_t"
    assert f"  {word} *A_0,\n" in mod.hls_code


def added(A: int32[4, 3], x: int32[3], B: int32[4, 3]):
    for i in range(4):
        for j in range(3):
            B[i, j] += A[i, j] * x[j]


def test_an_array_between_two_that_are_spread_has_a_copy_of_its_own() -> None:
    """Each copies by a function that is named after the position of its parameter."""
    s = placed(added, A="hbm[2:4]", B="hbm[3:5]")
    A, x, B = (RNG.integers(-99, 99, shape).astype(np.int32) for shape in ((4, 3), (3,), (4, 3)))
    text = check(s, A, x, B).hls_code
    assert text.count("void load_buf2(") == text.count("void load_buf2_1(") == 1


def test_whole_arrays_pass_by_bursts_of_lines() -> None:
    text = placed(scaled, A="hbm[0:2]").build(target="vitis_hls").hls_code
    mover = text[text.index("void load_buf0(") :].split("\nvoid ")[0]
    pipelined, unrolled = (
        mover.index("#pragma HLS pipeline II=1"),
        mover.index("#pragma HLS unroll"),
    )
    for c in range(2):
        assert pipelined < mover.index(f"= port_{c}[base + load_buf0_lines];") < unrolled
    assert "load_buf0_lines < 12;" in mover  # 24 lines on two channels
    assert "port=A_1 offset=slave bundle=hbm1 max_read_burst_length=64" in text


def test_rows_of_caches_pass_by_bursts_of_lines() -> None:
    def rows(A: int32[ROWS, N], B: int32[ROWS, N]):
        for i in range(ROWS):
            for j in range(N):
                B[i, j] += A[i, N - 1 - j]

    s = placed(rows, A="ddr[0:2]", B="hbm[0:4]")
    s.cache(s.A, at="i", double_buffer=True)
    s.cache(s.B, at="i")
    mod = check(s, *matrices(), wrap_io=False)
    text = mod.hls_code
    assert text.count("void load_rows") == 2 and text.count("void store_rows") == 1
    assert "#pragma HLS dataflow" in text and "buf0" not in text
    assert "bundle=ddr1" in text


def test_rows_that_begin_within_a_group_of_lines_pass_by_elements() -> None:
    def odd(A: int32[8, 48], B: int32[8, 48]):
        for i in range(8):
            for j in range(48):
                B[i, j] = A[i, j] + A[i, 47 - j]

    s = placed(odd, A="hbm[0:2]", B="hbm[2:4]")
    s.cache(s.A, at="i")
    A, B = RNG.integers(-1000, 1000, (2, 8, 48)).astype(np.int32)
    assert "load_rows" not in check(s, A, B, wrap_io=False).hls_code


def inner(row: int32[8, 64], by: int32, out: int32[8, 64]):
    for i, j in allo.grid(8, 64):
        out[i, j] += row[7 - i, j] * by


def twice(A: int32[8, 64], B: int32[8, 64], at: int32[8]):
    inner(A, 2, B)
    inner(A, 3, B)
    for i in range(8):
        B[at[i], 0] = A[at[i], 5]


@pytest.mark.parametrize("wrap_io", [True, False])
def test_functions_and_subscripts_that_data_decide(wrap_io: bool) -> None:
    s = placed(twice, A="hbm[0:2]", B="hbm[4:8]")
    A, B = RNG.integers(-1000, 1000, (2, 8, 64)).astype(np.int32)
    mod = check(s, A, B, RNG.permutation(8).astype(np.int32), wrap_io=wrap_io)
    assert ("void inner_s0(" in mod.hls_code) != wrap_io


def test_processes_of_a_region_get_the_ports_of_their_array() -> None:
    @df.region()
    def piped(A: int32[4, N], B: int32[4, N]):
        words: Stream[int32, 4]

        @df.kernel(mapping=[1], args=[A])
        def reader(a: int32[4, N]):
            for i, j in allo.grid(4, N):
                words.put(a[i, j])

        @df.kernel(mapping=[1], args=[B])
        def writer(b: int32[4, N]):
            for i, j in allo.grid(4, N):
                b[i, j] = words.get() + 1

    s = df.customize(piped)
    s.place("piped:A", "hbm[0:2]")
    s.place("piped:B", "hbm[4:8]")
    A, B = RNG.integers(-1000, 1000, (2, 4, N)).astype(np.int32)
    text = check(s, A, B, wrap_io=False).hls_code
    assert "(A_0, A_1, words);" in text and "(B_0, B_1, B_2, B_3, words);" in text


KINDS = [int8, Int(12), UInt(3), Int(33), Fixed(12, 4), float16, float32, float64, bool]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("wrap_io", [True, False])
def test_every_kind_of_element(kind: Any, wrap_io: bool) -> None:
    def moved(A: kind[211], B: kind[211]):
        for i in range(210):
            B[i] = A[i + 1]

    s = placed(moved, A="hbm[0:2]", B="hbm[2:4]")
    if kind in (float16, float32, float64):
        A, B = RNG.normal(size=(2, 211)).astype({float16: "f2", float32: "f4", float64: "f8"}[kind])
    elif kind == bool:
        A, B = RNG.integers(0, 2, (2, 211)).astype(np.bool_)
    elif kind == Fixed(12, 4):
        A, B = RNG.integers(-2048, 2048, (2, 211)) / 16
        A, B = A.astype(np.float64), B.astype(np.float64)
    else:
        low, high = (-100, 100) if kind != UInt(3) else (0, 8)
        natural = {8: np.int8, 12: np.int16, 3: np.uint8, 33: np.int64}[kind.bits]
        A, B = RNG.integers(low, high, (2, 211)).astype(natural)
    check(s, A, B, wrap_io=wrap_io)


def test_host_program_and_test_bench_deal_and_join_the_lines(tmp_path: Path) -> None:
    """By g++; a shim of OpenCL has memory of its own for each buffer."""
    s = placed(scaled, A="hbm[0:4]", B="hbm[4:7]")
    s.build(target="vitis_hls", mode="csim", project=str(tmp_path))
    A, B = matrices()
    for k, array in enumerate((A, B)):
        array.tofile(tmp_path / f"input{k}.data")
    s.build()(A, B)
    words = ", ".join(f"(ap_uint<512> *)a[{k}]" for k in range(7))
    (tmp_path / "call.cpp").write_text(
        f'#include "kernel.h"\nvoid shim_call(void **a) {{ scaled({words}); }}\n'
    )
    compile_here(tmp_path, "-c", "kernel.cpp", "-o", "kernel.o")
    compile_here(tmp_path, "host.cpp", "xcl2.cpp", "call.cpp", "kernel.o", "-o", "host")
    compile_here(tmp_path, "tb.cpp", "kernel.o", "-o", "tb")
    for program in ("host", "tb"):
        subprocess.run([f"./{program}", "input0.data"], cwd=tmp_path, check=True, timeout=60)
        for output in tmp_path.glob("output*.data"):
            got = np.fromfile(output, np.int32)
            np.testing.assert_array_equal(got, B.reshape(-1), err_msg=program)
            output.unlink()


def test_a_line_on_another_channel_is_seen(tmp_path: Path) -> None:
    """The comparison of the test above fails where host and kernel deal lines otherwise."""
    s = placed(scaled, A="hbm[0:4]", B="hbm[4:7]")
    s.build(target="vitis_hls", mode="csim", project=str(tmp_path))
    bench = (tmp_path / "tb.cpp").read_text()
    (tmp_path / "tb.cpp").write_text(
        bench.replace("parts[line % parts", "parts[(line + 1) % parts", 1)
    )
    A, B = matrices()
    for k, array in enumerate((A, B)):
        array.tofile(tmp_path / f"input{k}.data")
    s.build()(A, B)
    compile_here(tmp_path, "tb.cpp", "kernel.cpp", "-o", "tb")
    subprocess.run(["./tb"], cwd=tmp_path, check=True, timeout=60)
    got = np.fromfile(next(tmp_path.glob("output*.data")), np.int32)
    assert (got != B.reshape(-1)).any()


def test_what_cannot_lie_in_lines_is_refused_by_name() -> None:
    pair = Struct({"a": int32, "b": int8})

    def first(A: pair[8], B: int32[8]):
        for i in range(8):
            B[i] = A[i]["a"]

    with pytest.raises(
        HlsConfigError, match="A lies on 2 channels, and its elements are of type"
    ) as e:
        placed(first, A="hbm[0:2]").build(target="vitis_hls")
    assert "place it in one channel" in str(e.value)
    s = placed(scaled, A="hbm[0:32]", B="ddr[0]")
    with pytest.raises(PlacementError, match="scaled has 33 AXI masters, and a U280 takes 32"):
        s.build(target="vitis_hls")
