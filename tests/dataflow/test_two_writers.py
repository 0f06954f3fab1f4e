"""Processes of a region that write one array: disjoint parts run everywhere, others are refused."""

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import AlloError, DataflowError
from allo.ir.types import index, int32


def copied(a: int32[4], b: int32[4]):
    for i in range(4):
        b[i] = a[i]


def shifted(a: int32[8], b: int32[8], n: index):
    for i in range(4):
        b[i + n] = a[i + n] + 1


@df.region()
def interleaved(A: int32[8], B: int32[8]):
    @df.kernel(mapping=[2], args=[A, B])
    def core(a: int32[8], b: int32[8]):
        p = df.get_pid()
        for i in range(4):
            b[2 * i + p] = a[2 * i + p] + 1


@df.region()
def behind_calls(A: int32[8], B: int32[8]):
    @df.kernel(mapping=[2], args=[A, B])
    def core(a: int32[8], b: int32[8]):
        p = df.get_pid()
        shifted(a, b, 4 * p)


@pytest.mark.parametrize("region", [interleaved, behind_calls])
@pytest.mark.parametrize(
    "options",
    [
        {"target": "simulator"},
        {"target": "vhls", "mode": "csim"},
        {"target": "verilog", "simulator": "jit"},
    ],
    ids=["cpu", "csim", "rtl"],
)
def test_parts_without_a_common_element_run_on_every_target(region, options):
    module = df.build(region, **options)
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    module(a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_parts_cut_by_an_argument_of_the_region_are_told_apart():
    @df.region()
    def cut(A: int32[8], B: int32[8], n: index):
        @df.kernel(mapping=[1], args=[A, B])
        def low(a: int32[8], b: int32[8]):
            for i in range(n):
                b[i] = a[i]

        @df.kernel(mapping=[1], args=[A, B])
        def high(a: int32[8], b: int32[8]):
            for i in range(n, 8):
                b[i] = a[i]

    assert df.customize(cut).kernel.surprises == []


def test_rows_that_a_called_function_gets_are_told_apart():
    @df.region()
    def rows(A: int32[2, 4], B: int32[2, 4]):
        @df.kernel(mapping=[2], args=[A, B])
        def core(a: int32[2, 4], b: int32[2, 4]):
            p = df.get_pid()
            copied(a[p], b[p])

    assert df.customize(rows).kernel.surprises == []


@df.region()
def twice(A: int32[4], B: int32[4]):
    @df.kernel(mapping=[2], args=[A, B])
    def core(a: int32[4], b: int32[4]):
        p = df.get_pid()
        for i in range(4):
            b[i] = a[i] + p


@pytest.mark.parametrize("target", ["simulator", "vhls", "vitis_hls", "verilog"])
def test_an_element_written_twice_is_refused_on_every_target(target):
    with pytest.raises(
        DataflowError, match=r"core_0 and core_1 run at once, and both write B\[\d\]"
    ) as caught:
        df.build(twice, target=target, mode=None)
    text = str(caught.value)
    assert text.count("b[i] = a[i] + p") == 2, "both writes are shown"
    assert "core_0 writes it here" in text
    assert "help: let each process write elements of its own" in text


def test_one_element_of_two_parts_is_named():
    @df.region()
    def overlapping(A: int32[8], B: int32[8]):
        @df.kernel(mapping=[2], args=[A, B])
        def core(a: int32[8], b: int32[8]):
            p = df.get_pid()
            shifted(a, b, 3 * p)

    with pytest.raises(DataflowError, match=r"both write B\[3\]: which of the two values stays"):
        df.customize(overlapping)


def test_rows_that_are_one_row_are_refused():
    @df.region()
    def same_row(A: int32[2, 4], B: int32[2, 4]):
        @df.kernel(mapping=[2], args=[A, B])
        def core(a: int32[2, 4], b: int32[2, 4]):
            copied(a[1], b[1])

    with pytest.raises(AlloError, match=r"both write B\[1, \d\]"):
        df.customize(same_row)


def test_subscripts_made_of_data_are_a_surprise():
    @df.region()
    def scattered(A: int32[8], B: int32[8]):
        @df.kernel(mapping=[2], args=[A, B])
        def core(a: int32[8], b: int32[8]):
            p = df.get_pid()
            for i in range(4):
                b[a[4 * p + i]] = p

    found = df.customize(scattered).kernel.surprises
    assert [one.rule for one in found] == ["writers"]
    assert "b[a[4 * p + i]] = p" in found[0].text
