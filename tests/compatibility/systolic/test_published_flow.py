"""The published flow of one product, and the library's kernels under their published names."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import float32, int8, int16, int32
from allo.library import nn
from allo.library import systolic as library
from allo.library.systolic import systolic
from tests.compatibility.runs import check_outputs, check_results


def small(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-8, 8, shape).astype(np.int8)


def product(M, N, K, T):
    def gemm(A: T[M, K], B: T[K, N]) -> T[M, N]:
        C: T[M, N] = 0
        for i, j in allo.grid(M, N, name="PE"):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]
        return C

    return allo.customize(gemm)


@pytest.mark.parametrize(
    ("M", "N", "K", "T", "axes"),
    [
        (2, 2, 4, int16, "ji"),
        (3, 4, 5, int32, "ji"),
        (4, 2, 3, float32, "ji"),
        (2, 3, 4, int16, "ij"),
        (3, 2, 2, int32, "jj"),
    ],
)
def test_the_flow_of_one_product(M, N, K, T, axes):
    """An operand passes along the loop it has no subscript of, whichever outer loop names it."""
    s = product(M, N, K, T)
    assert s.systolic
    buf_A = s.buffer_at(s.A, axes[0])
    buf_B = s.buffer_at(s.B, axes[1])
    assert (buf_A, buf_B) == (s.A_fifo, s.B_fifo)
    pe = s.unfold("PE", [0, 1])
    s.to(buf_A, pe, axis=1, depth=M + 1)
    s.to(buf_B, pe, axis=0, depth=N + 1)
    dtype = {"i16": np.int16, "i32": np.int32, "f32": np.float32}[str(T)]
    A, B = small(M, K).astype(dtype), small(K, N).astype(dtype)
    check_results(s, [A, B], A @ B)


def test_what_an_operand_cannot_pass_along():
    s = product(2, 2, 3, int32)
    with pytest.raises(ScheduleError, match="no subscript of that loop"):
        s.feed(s.A, "i")
    with pytest.raises(ScheduleError, match="it is the innermost loop"):
        s.buffer_at(s.B, "k")


def test_bands_of_the_library():
    s = allo.customize(systolic, instantiate=[int8, int8, int32, 4, 6, 4, 2, 2])
    assert [name for name, _ in s.get_loops()] == ["outer_tile"]
    loops = [name for name, _ in s.get_loops()["outer_tile"]]
    assert loops == ["mi", "ni", "ak", "ai", "bk", "bj", "sj", "si"]
    library.schedule_systolic(s)
    loops = [name for name, _ in s.get_loops()["outer_tile"]]
    assert loops == ["mi_ni_fused", "ak", "ai", "bk", "bj", "sj", "si"]
    s = allo.customize(systolic, instantiate=[int8, int8, int32, 4, 6, 4, 2, 2])
    bands = [name for name, _ in s.get_loops("systolic_tile")]
    assert bands == ["data_load", "PE", "data_drain"]
    assert [name for name, _ in s.get_loops("PE_kernel")] == ["reduction"]
    heads = allo.customize(nn.scaled_dot_product_attention, instantiate=[float32, 2, 4, 4, 2, 2])
    assert all(f'op_name = "{band}"' in str(heads.module) for band in ("mha_split", "mha_merge"))


@pytest.mark.parametrize(
    ("kernel", "template", "names"),
    [
        (nn.softmax, [float32, 4], ["row_max", "exp_sum", "update"]),
        (nn.GeLU, [float32, 2, 3], ["gelu"]),
    ],
)
def test_bands_of_the_layers(kernel, template, names):
    s = allo.customize(kernel, instantiate=template)
    assert set(names) <= {name for name, _ in s.get_loops()}


def test_loops_of_a_linear_layer():
    s = allo.customize(nn.linear2d, instantiate=[float32, float32, float32, 2, 3, 4])
    for loop in ("i", "j_init", "k", "j", "j_back"):
        s.pipeline(f"linear2d:{loop}")
    assert str(s.module).count("pipeline_ii") == 5


def test_a_product_composed_onto_its_own_schedule():
    template = [int8, int8, int32, 4, 3, 4, 2, 2]
    s = allo.customize(systolic, instantiate=template)
    s.compose(systolic)
    again = allo.customize(systolic, instantiate=template)
    library.schedule_systolic(again)
    assert str(s.module) == str(again.module)
    A, B = small(4, 3), small(3, 4)
    check_outputs(s, [A, B], (A.astype(int) @ B).astype(np.int32))
    with pytest.raises(ScheduleError, match=r"schedule is of systolic\(i8\[4x3\]"):
        allo.customize(systolic, instantiate=[int8, int8, int32, 8, 3, 4, 2, 2]).compose(
            systolic, instantiate=template
        )


def test_published_names():
    published = (
        "PE_kernel PE_kernel_packed_int4xint8 PE_kernel_packed_int8xint8 systolic_tile systolic "
        "packed_systolic packed_int8xint8_systolic schedule_systolic check_systolic prepare_systolic"
    ).split()
    assert set(published) <= set(library.__all__)
    assert all(callable(getattr(library, name)) for name in published)
    schedules = (
        "linear2d linear3d relu2d relu3d relu4d softmax log_softmax layernorm gelu modulate_fused "
        "conv2d maxpool2d avgpool2d batchnorm2d batchnorm1d_2d batchnorm1d_3d repeat_batch3d concat"
    ).split()
    missing = [name for name in schedules if not hasattr(nn, f"schedule_{name}")]
    assert missing == []
