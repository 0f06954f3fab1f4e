"""The targets xls and xlscc: sw_emu against the CPU, the text, RAM rewrites, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.xls import XLSCCModule, is_available
from allo.errors import AlloError, BoundaryError
from allo.ir.types import Fixed, Int, Stream, UInt, float32, int8, int16, int32
from allo.memory import Memory
from allo.utils import get_np_struct_type

RNG = np.random.default_rng(23)


def product(A: int8[6, 10], B: Int(7)[10, 4], n: int32) -> int32[6, 4]:
    C: int32[6, 4] = 0
    for i, j in allo.grid(6, 4):
        for k in range(10):
            C[i, j] += A[i, k] * B[k, j] + max(n, j)
    return C


def in_place(A: int16[9], B: UInt(90)[9]):
    for i in range(9):
        A[i] = A[i] + i
        B[i] = B[i] * B[i] >> 3


def scalars(a: int32, b: Int(9)) -> int32:
    return a * b + 3


def halve(a: int32) -> int32:
    return a // 2


def with_call(A: int32[5]) -> int32[5]:
    B: int32[5] = 0
    for i in range(5):
        B[i] = halve(A[i])
    return B


def scaled(A: Fixed(12, 5)[9]) -> Fixed(20, 8)[9]:
    C: Fixed(20, 8)[9] = 0
    for i in range(9):
        C[i] = A[i] * A[i] + A[i]
    return C


def of_floats(A: float32[4]) -> float32[4]:
    B: float32[4] = 0
    for i in range(4):
        B[i] = A[i] + 1.0
    return B


@pytest.mark.parametrize("use_memory", [False, True])
@pytest.mark.parametrize("target", ["xls", "xlscc"])
def test_arrays_and_scalars_equal_the_cpu_build(target, use_memory):
    s = allo.customize(product)
    s.pipeline("j")
    mod = s.build(target=target, mode="sw_emu", use_memory=use_memory)
    a, b = RNG.integers(-128, 128, (6, 10), np.int8), RNG.integers(-64, 64, (10, 4), np.int8)
    for n in (-5, 2):
        np.testing.assert_array_equal(mod(a, b, n), s.build()(a, b, n))


@pytest.mark.parametrize("use_memory", [False, True])
def test_arrays_in_and_out_and_wide_integers(use_memory):
    s = allo.customize(in_place)
    mod = s.build(target="xls", mode="sw_emu", use_memory=use_memory)
    wide = s.build()
    a = RNG.integers(-(1 << 15), 1 << 15, 9, np.int16)
    kind = get_np_struct_type(90)
    values = np.frombuffer(RNG.bytes(9 * kind.itemsize), kind)
    mine, theirs = [(a.copy(), values.copy()) for _ in range(2)]
    mod(*mine)
    wide(*theirs)
    np.testing.assert_array_equal(mine[0], theirs[0])
    np.testing.assert_array_equal(mine[1], theirs[1])


@pytest.mark.parametrize("kernel", [scalars, halve])
def test_scalar_kernels_are_functions(kernel):
    s = allo.customize(kernel)
    mod = s.build(target="xls", mode="sw_emu")
    assert f"#pragma hls_top\nint32_t {kernel.__name__}(int32_t a" in str(mod)
    assert "class TestBlock" not in mod.final_cpp
    for args in RNG.integers(-256, 256, (20, 2)).tolist():
        args = args[: 2 if kernel is scalars else 1]
        assert mod(*args) == s.build()(*args)


def test_calls_and_fixed_point():
    a = RNG.integers(-99, 99, 5, np.int32)
    s = allo.customize(with_call)
    np.testing.assert_array_equal(s.build(target="xls", mode="sw_emu")(a), s.build()(a))
    s = allo.customize(scaled)
    mod = s.build(target="xls", mode="sw_emu")
    assert mod.final_cpp.index("struct Fixed {") < mod.final_cpp.index("Fixed<12, 7, true> A[9]")
    x = RNG.uniform(-60, 60, 9)
    np.testing.assert_array_equal(mod(x), s.build()(x))


def corner(k: int16[3, 4], block: int16[4], i0: int16[3, 4]):
    for i, j in allo.grid(2, 3):
        i0[i, j] = k[i, j] + block[j]


@pytest.mark.parametrize("memory", [False, True])
def test_what_a_kernel_leaves_keeps_its_value_whatever_its_name(memory):
    """Only a corner is written; the ports have the names that the block's own loops would take."""
    s = allo.customize(corner)
    k, block, found = (RNG.integers(-99, 99, n, np.int16) for n in ((3, 4), 4, (3, 4)))
    expected = found.copy()
    s.build()(k, block, expected)
    s.build(target="xls", mode="sw_emu", use_memory=memory)(k, block, found)
    np.testing.assert_array_equal(found, expected)


def test_block_text(tmp_path):
    s = allo.customize(product)
    s.pipeline("j", initiation_interval=2)
    s.unroll("k")
    mod = s.build(target="xls", project=str(tmp_path / "p"))
    code = mod.final_cpp
    assert mod.core_code.splitlines()[-1] == "}" and "class TestBlock" not in mod.core_code
    assert "  __xls_channel< XlsInt<7, true>, __xls_channel_dir_In > B;" in code
    assert "  __xls_channel< int32_t, __xls_channel_dir_Out > C;" in code
    assert "  #pragma hls_top\n  void Run() {" in code
    assert "#pragma hls_pipeline_init_interval 2" in code and "#pragma hls_unroll yes" in code
    assert mod.rewrites_textproto == "" and (tmp_path / "p" / "test_block.cpp").read_text() == code
    assert sorted(p.name for p in (tmp_path / "p").iterdir()) == ["test_block.cpp"]


def test_memories_and_their_rewrites(tmp_path, capsys):
    s = allo.customize(product)
    project = tmp_path / "p"
    mod = s.build(target="xls", mode="sw_emu", project=str(project), use_memory=True)
    assert "  __xls_memory< int8_t, 60 > A;" in mod.final_cpp
    text = mod.rewrites_textproto
    assert text.startswith("# Automatically Generated by Allo\n# XLS [CC] Backend\n")
    assert text.count("rewrites {") == 3 and text.count("kind: RAM_ABSTRACT") == 3
    assert text.count("{") == text.count("}")
    for part in ("_read_request", "_read_response", "_write_request", "_write_response"):
        assert f'value: "A{part}"' in text
    assert 'to_name_prefix: "C_"' in text and "depth: 40" in text
    assert sorted(p.name for p in project.iterdir()) == [
        "rewrites.textproto",
        "test_block.cpp",
        "test_harness.cpp",
    ]
    mod.print_textproto()
    s.build(target="xls").print_textproto()
    shown = capsys.readouterr().out
    assert text in shown and "No RAM rewrites (not in memory mode)" in shown


def single_port(A: int32[8] @ Memory(storage_type="RAM_1P")) -> int32[8]:
    B: int32[8] = 0
    for i in range(8):
        B[i] = A[i] + 1
    return B


def true_dual_port(A: int32[8] @ Memory(storage_type="RAM_T2P")) -> int32[8]:
    B: int32[8] = 0
    for i in range(8):
        B[i] = A[i] + 1
    return B


def test_storage_types_choose_the_ram():
    text = allo.customize(single_port).build(target="xls", use_memory=True).rewrites_textproto
    assert "kind: RAM_1RW\n" in text and 'value: "A_req"' in text and 'value: "A_resp"' in text
    with pytest.raises(RuntimeError) as caught:
        allo.customize(true_dual_port).build(target="xls", use_memory=True)
    assert caught.value.message == (
        "XLS has no RAM for storage type RAM_T2P of A; allowed: RAM_2P, RAM_1P, ROM_1P."
    )


# --- refusals ---------------------------------------------------------------------------


def test_floats_are_refused_with_their_line(tmp_path):
    s = allo.customize(of_floats)
    with pytest.raises(RuntimeError, match=r"XLS \[CC\] validation failed: FLOAT_TYPE") as caught:
        s.build(target="xls", project=str(tmp_path / "p"))
    assert isinstance(caught.value, AlloError) and caught.value.place.file == __file__
    assert "FLOAT_TYPE: f32 is a float" in (tmp_path / "p" / "xls_errors.txt").read_text()


@df.region()
def piped(A: int32[4], B: int32[4]):
    link: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def produce(a: int32[4]):
        for i in range(4):
            link.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def consume(b: int32[4]):
        for i in range(4):
            b[i] = link.get()


def test_fifos_are_refused():
    with pytest.raises(RuntimeError, match="STREAM_TYPE: FIFOs between kernels"):
        df.customize(piped).build(target="xls")


def test_calls_need_sw_emu_and_the_right_arguments():
    s = allo.customize(with_call)
    with pytest.raises(RuntimeError, match="__call__ only supported in sw_emu mode") as caught:
        s.build(target="xls")(np.zeros(5, np.int32))
    assert caught.value.help == "build with mode='sw_emu'."
    with pytest.raises(BoundaryError, match="# of input arguments mismatch"):
        s.build(target="xls", mode="sw_emu")(np.zeros(5, np.int32), 3, 4)
    with pytest.raises(AssertionError, match="Invalid mode 'csim' for target xls"):
        s.build(target="xls", mode="csim")
    with pytest.raises(ValueError, match="configs has no key 'device' for target xls"):
        s.build(target="xls", configs={"device": "u280"})


def test_the_class_takes_a_module():
    s = allo.customize(halve)
    assert is_available()
    assert XLSCCModule(s.module, "halve", mode="sw_emu")(-7) == s.build()(-7)
