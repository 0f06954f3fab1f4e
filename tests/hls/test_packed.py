"""Packed arrays in HLS C++: lines without bits between elements, on one channel or several."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.hls.errors import HlsConfigError
from allo.ir.types import Fixed, Int, UInt, bool, int32
from tests.hls.test_split_arguments import compile_here

RNG = np.random.default_rng(31)
COUNT = 211


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


def numbers(kind: Any, count: int) -> np.ndarray:
    """Random elements of a type, of its full range up to 60 bits."""
    if isinstance(kind, Fixed):
        return RNG.integers(-2048, 2048, count) / 16
    if kind == bool:
        return RNG.integers(0, 2, count).astype(np.bool_)
    bits = min(kind.bits, 60)
    if isinstance(kind, UInt):
        return RNG.integers(0, 1 << bits, count).astype({3: np.uint8, 20: np.uint32}[kind.bits])
    drawn = RNG.integers(-(1 << bits - 1), 1 << bits - 1, count)
    return drawn.astype({4: np.int8, 13: np.int16, 33: np.int64}[kind.bits])


KINDS = [(bool, 1), (UInt(3), 2), (Int(4), 1), (Int(13), 1), (UInt(20), 3), (Int(33), 2)]


@pytest.mark.parametrize(("kind", "channels"), [*KINDS, (Fixed(12, 4), 1)], ids=str)
def test_every_width_on_one_channel_and_several(kind: Any, channels: int) -> None:
    def moved(A: kind[COUNT], B: kind[COUNT]):
        for i in range(COUNT - 2):
            B[i + 1] = A[COUNT - 1 - i]

    s = allo.customize(moved)
    for name in ("A", "B"):
        s.layout(getattr(s, name), "packed")
    s.place(s.A, f"hbm[0:{channels}]")
    lines = -(-COUNT * kind.bits // (512 * channels))
    text = check(s, numbers(kind, COUNT), numbers(kind, COUNT)).hls_code
    assert f"port_0[{lines}]" in text


def tripled(A: Int(12)[8, 256], B: Int(24)[8, 256]):
    """Rows of A are 6 lines, those of B 12."""
    for i in range(8):
        for j in range(256):
            B[i, j] += A[i, 255 - j] * 3


def matrices() -> tuple[np.ndarray, np.ndarray]:
    A = RNG.integers(-2048, 2048, (8, 256)).astype(np.int16)
    return A, RNG.integers(-(1 << 23), 1 << 23, (8, 256)).astype(np.int32)


def packed(**cached: str) -> Any:
    s = allo.customize(tripled)
    s.layout(s.A, "packed")
    s.layout(s.B, "packed")
    for name, at in cached.items():
        s.cache(getattr(s, name), at=at, double_buffer=True)
    return s


def test_rows_of_caches_pass_by_bursts_of_packed_lines() -> None:
    s = packed(A="i", B="i")
    text = check(s, *matrices(), wrap_io=False).hls_code
    assert text.count("void load_rows") == 2 and text.count("void store_rows") == 1
    assert "#pragma HLS dataflow" in text and "buf0" not in text
    assert "port=A offset=slave bundle=gmem0 max_read_burst_length=64" in text
    first = text[text.index("void load_rows0(") :].split("\nvoid ")[0]
    assert "port_0[48]" in first and "< 6;" in first
    assert first.index("#pragma HLS pipeline II=1") < first.index("= port_0[base + ")


def test_rows_that_begin_within_a_line_are_copied_with_the_whole_array() -> None:
    def odd(A: Int(12)[8, 48], B: int32[8, 48]):
        for i in range(8):
            for j in range(48):
                B[i, j] = A[i, j] + A[i, 47 - j]

    s = allo.customize(odd)
    s.layout(s.A, "packed")
    s.cache(s.A, at="i")
    A = RNG.integers(-2048, 2048, (8, 48)).astype(np.int16)
    text = check(s, A, np.zeros((8, 48), np.int32), wrap_io=False).hls_code
    assert "load_rows" not in text and "void load_buf0(" in text


def test_an_order_and_packed() -> None:
    s = allo.customize(tripled)
    s.layout(s.A, "transposed packed")
    s.layout(s.B, "tiled(4, 8) packed")
    check(s, *matrices())


def test_host_program_and_test_bench_pack(tmp_path: Path) -> None:
    """By g++; a shim of OpenCL has memory of its own for each buffer. Files hold cells."""
    s = packed()
    s.place(s.B, "hbm[4:6]")
    s.build(target="vitis_hls", mode="csim", project=str(tmp_path))
    A, B = matrices()
    for k, array in enumerate((A, B)):
        array.tofile(tmp_path / f"input{k}.data")
    s.build()(A, B)
    words = ", ".join(f"(ap_uint<512> *)a[{k}]" for k in range(3))
    (tmp_path / "call.cpp").write_text(
        f'#include "kernel.h"\nvoid shim_call(void **a) {{ tripled({words}); }}\n'
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


def test_other_targets_have_cells_and_a_list_of_memories_is_refused() -> None:
    s = packed()
    assert "ap_uint<512>" not in s.build(target="vhls").hls_code
    mapping = {"A": ["HBM[0]", "HBM[1]"]}
    with pytest.raises(HlsConfigError, match="A is packed, and hbm_mapping splits it") as e:
        s.build(target="vitis_hls", wrap_io=False, configs={"hbm_mapping": mapping})
    assert "s.place it in several channels" in str(e.value)
