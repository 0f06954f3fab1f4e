"""Layouts of kernel parameters: whole copies are what processes get, shards are refused."""

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import DataflowError
from allo.ir.types import int32
from allo.memory import Layout

S, R = Layout.Shard, Layout.Replicate


@pytest.mark.parametrize("layout", [[S(0)], Layout([S(0)]), [S("i")]])
@pytest.mark.parametrize("target", ["simulator", "vhls", "verilog"])
def test_a_shard_is_refused(layout, target):
    @df.region()
    def top(A: int32[8]):
        @df.kernel(mapping=[2], args=[A])
        def core(a: int32[8] @ layout):
            a[0] = 1

    with pytest.raises(DataflowError) as caught:
        df.build(top, target=target)
    axis = "i" if layout == [S("i")] else 0
    assert caught.value.message == (
        f"The layout of a cuts it along axis {axis} of the mapping [2], but every process of core "
        "gets the whole array."
    )
    assert caught.value.help == (
        "leave the layout out, and subscript the process's own part by df.get_pid()."
    )


@pytest.mark.parametrize("layout", [[R], [S(0)]])
def test_a_layout_that_cuts_nothing_is_the_whole_array(layout):
    @df.region()
    def top(A: int32[8]):
        @df.kernel(mapping=[1], args=[A])
        def core(a: int32[8] @ layout):
            for i in range(8):
                a[i] = i

    a = np.zeros(8, np.int32)
    df.build(top, target="simulator")(a)
    np.testing.assert_array_equal(a, np.arange(8))
