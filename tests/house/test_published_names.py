"""Names and exceptions that published programs import, catch and rely on."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import Stateful, Stream, int32


def twice(A: int32[4]) -> int32[4]:
    B: int32[4]
    for i in range(4):
        B[i] = A[i] * 2
    return B


def test_submodules_are_attributes_of_the_package():
    s = allo.customize(twice)
    assert allo.passes.analyze_arg_load_store(s.module) == {"twice": ["in"]}
    assert allo.utils.get_np_struct_type(96).itemsize == 12
    assert allo.primitives.__name__ == "allo.primitives"


def test_the_top_function_is_a_function_of_mlir():
    s = allo.customize(twice)
    assert s.top_func.name.value == s.top_func_name == "twice"
    assert [str(kind) for kind in s.top_func.type.inputs] == ["memref<4xi32>"]
    assert list(dict(s.get_loops(s.top_func))) == list(dict(s.get_loops()))
    counted = allo.passes.analyze_arg_load_store_in_func(s.top_func, {})
    assert counted == ["in"]


def test_the_call_boundary_raises_what_published_programs_catch():
    mod = allo.customize(twice).build()
    with pytest.raises(AssertionError, match="# of input arguments mismatch, got 0 but expected 1"):
        mod()
    with pytest.raises(RuntimeError, match="input data is not contiguous"):
        mod(np.zeros(8, np.int32)[::2])


def test_the_hls_steps_raise_what_published_programs_catch(tmp_path, monkeypatch):
    s = allo.customize(twice)
    mod = s.build("vitis_hls", mode="csyn", project=str(tmp_path / "a.prj"))
    with pytest.raises(AssertionError, match="csyn mode does not need to pass in arguments"):
        mod(np.zeros(4, np.int32))
    monkeypatch.setenv("PATH", "")
    emulated = s.build(
        "vitis_hls", mode="hw", project=str(tmp_path / "b.prj"), configs={"fallback": False}
    )
    with pytest.raises(AssertionError, match="is not available"):
        emulated(np.zeros(4, np.int32), np.zeros(4, np.int32))


@df.region()
def ring(A: int32[4], B: int32[4]):
    pipe: Stream[int32, 4][3]

    @df.kernel(mapping=[4], args=[A, B])
    def step(a: int32[4], b: int32[4]):
        i = df.get_pid()
        for k in range(4):
            x: int32 = 0
            with allo.meta_if(i in {1, 2, 3}):
                x = pipe[i - 1].get()
            with allo.meta_else():
                x = a[k]
            with allo.meta_if(i not in (3,)):
                pipe[i].put(x)
            with allo.meta_else():
                b[k] = x


def test_membership_is_a_compile_time_condition():
    A, B = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    df.build(ring, target="simulator")(A, B)
    np.testing.assert_array_equal(A, B)


def test_default_optimisation_pipelines_with_rewind():
    code = df.customize(ring, opt_default=True).build("vhls").hls_code
    assert code.count("#pragma HLS pipeline II=1 rewind") == 4


def test_npu_options_are_refused():
    with pytest.raises(AssertionError, match="Profiling is only supported for AIE target"):
        df.build(ring, target="simulator", profile=True)


def test_programs_for_the_npu_learn_that_there_is_none():
    from allo.backend.aie import is_available
    from allo.backend.aie.external_kernel import ExternalModule

    assert not is_available()
    with pytest.raises(NotImplementedError, match="The kernel norm is for AMD's NPU"):
        ExternalModule("norm", "norm.cc", [0, 1], [2])


def test_a_schedule_lists_the_instances_of_its_kernels():
    assert df.customize(ring).func_instances == {"step": [f"step_{i}" for i in range(4)]}
    assert allo.customize(twice).func_instances == {}


def test_annotations_compare_by_what_they_say():
    assert int32 @ Stateful == int32 @ Stateful and int32 @ Stateful != int32
    assert (int32 @ Stateful).stateful and not int32.stateful and not int32[4].stateful
    assert len({int32[4], int32[4], int32[5], int32[4] @ Stateful}) == 3


def test_the_exceptions_of_partition_have_their_published_path():
    from allo._mlir.exceptions import AlloValueError

    with pytest.raises(AlloValueError, match="Invalid dimension -1"):
        s = allo.customize(twice)
        s.partition(s.A, dim=-1)
