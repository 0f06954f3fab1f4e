"""Library kernels in Verilog: the CPU's bits, the predicted cycles; the systolic array's processes."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import float32, int8, int32
from allo.library import nn, systolic
from allo.library.systolic_array import schedule_systolic_array, systolic_array
from tests.figures_plugin import Held
from tests.library.support import floats, int8s


def assert_bits(s, args: list, outputs: list):
    """Run CPU and Verilog on equal inputs; results and in-place arrays must have equal bits.

    Cycles must be those predicted, where nothing waits for streams. Gives the Verilog module.
    """
    cpu, rtl = s.build(), s.build(target="verilog")
    cpu_args = [*args, *(o.copy() for o in outputs)]
    rtl_args = [*args, *(o.copy() for o in outputs)]
    expected, got = cpu(*cpu_args), rtl(*rtl_args)
    pairs = list(zip(cpu_args, rtl_args, strict=True))
    if expected is not None:
        pairs.append((expected, got))
    for a, b in pairs:
        np.testing.assert_array_equal(np.asarray(a).view(np.uint8), np.asarray(b).view(np.uint8))
    assert rtl.report.cycles in (None, rtl.cycles)
    return rtl


def test_the_cells_of_a_systolic_tile_work_side_by_side():
    s = systolic.systolic.default_schedule([int8, int8, int32, 7, 9, 6, 4, 4])
    module = assert_bits(s, [int8s(7, 9), int8s(9, 6)], [np.zeros((7, 6), np.int32)])
    loops = [loop for f in module.report.functions for loop in f.loops]
    assert {loop.ii for loop in loops if loop.name.endswith(".k")} == {1}
    # Four tiles of 9 · 4 words of A, as many of B and 16 of C; of the rest each has a share of 26.
    assert module.cycles < 4 * (2 * 9 * 4 + 16 + 26)
    assert len([f for f in module.report.functions if f.name.startswith("PE_kernel_")]) == 4 * 4


@pytest.mark.parametrize(("K", "Mt", "Nt"), [(20, 3, 5), (8, 8, 8), (1, 2, 2)])
def test_a_systolic_tile_takes_the_steps_and_the_way_across(K, Mt, Nt):
    s = allo.customize(systolic.systolic_tile, instantiate=[int8, int8, int32, K, Mt, Nt])
    for name, dim in (("A", 1), ("B", 2), ("C", 0)):
        s.partition(getattr(s, name), dim=dim)
    s.pipeline("PE_kernel:k")
    systolic.stream_tile(s, "systolic_tile")
    module = assert_bits(s, [int8s(Mt, K), int8s(K, Nt)], [np.zeros((Mt, Nt), np.int32)])
    assert K + Mt + Nt <= module.cycles <= K + Mt + Nt + 4


def test_linear_layers_in_verilog():
    b = np.arange(6, dtype=np.int32)
    s = nn.linear_int8.default_schedule([3, 6, 8])
    assert_bits(s, [int8s(3, 8), int8s(6, 8), b], [])
    f = nn.linear2d.default_schedule([float32, float32, float32, 3, 6, 8])
    assert_bits(f, [floats(3, 8), floats(6, 8), floats(6)], [])


@pytest.mark.parametrize(("M", "K", "N"), [(1, 1, 1), (2, 7, 3), (8, 8, 8)])
def test_systolic_array_of_processes(M, K, N):
    s = df.customize(systolic_array, instantiate=[int8, int8, int32, M, K, N])
    schedule_systolic_array(s)
    A, B, C = int8s(M, K), int8s(K, N), np.zeros((M, N), np.int32)
    s.build(target="simulator")(A, B, C)
    np.testing.assert_array_equal(C, A.astype(int) @ B.astype(int))
    assert len([name for name in s.func_args if name.startswith("cell")]) >= 1


def test_the_systolic_array_takes_forty_cycles(figures: Held):
    s = df.customize(systolic_array, instantiate=[int8, int8, int32, 8, 8, 8])
    schedule_systolic_array(s)
    module = s.build(target="verilog")
    A, B, C = int8s(8, 8), int8s(8, 8, seed=1), np.zeros((8, 8), np.int32)
    module(A, B, C)
    np.testing.assert_array_equal(C, A.astype(int) @ B.astype(int))
    figures.hold("library.systolic_array.cycles", module.cycles)


def test_softmax_in_verilog():
    rows = nn.softmax_rows.default_schedule([float32, 8, 5])
    assert_bits(rows, [floats(8, 5, scale=4.0)], [])


@pytest.mark.parametrize("name", ["layer_norm", "GeLU", "attention_decode", "conv2d"])
def test_float_kernels_as_hardware(name: str):
    sizes, args = {
        "layer_norm": ([float32, 4, 16], [floats(4, 16), floats(16), floats(16)]),
        "GeLU": ([float32, 3, 8], [floats(3, 8, scale=3.0)]),
        "attention_decode": ([float32, 2, 6, 8], [floats(8), floats(6, 8), floats(6, 8), 5]),
        "conv2d": (
            [float32, 1, 2, 3, 6, 5, 3, 3, 4, 3, 1, 1, 0, 0],
            [floats(1, 2, 6, 5), floats(3, 2, 3, 3), floats(3)],
        ),
    }[name]
    s = getattr(nn, name).default_schedule(sizes)
    expected = s.build()(*args)
    got = s.build(target="verilog", simulator="jit")(*args)
    np.testing.assert_array_equal(expected.view(np.uint32), got.view(np.uint32))
