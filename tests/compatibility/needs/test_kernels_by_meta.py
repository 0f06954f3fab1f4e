"""``meta_if`` and ``meta_for`` between the kernels of a region."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import CompileTimeError, DataflowError, UnknownNameError
from allo.ir.types import ConstExpr, Stream, index, int32
from tests.engine import engine

A = np.arange(8, dtype=np.int32)
STAGES = 3
REVERSED = True


@df.region()
def chain(a: int32[8], b: int32[8]):
    pipes: Stream[int32, 2][STAGES + 1]

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[8]):
        for i in range(8):
            pipes[0].put(x[i])

    with allo.meta_for(STAGES) as k:

        @df.kernel(mapping=[1])
        def stage():
            for _ in range(8):
                v: int32 = pipes[k].get() * 2 + k
                pipes[k + 1].put(v)

    @df.kernel(mapping=[1], args=[b])
    def receive(y: int32[8]):
        for i in range(8):
            y[i] = pipes[STAGES].get()


def make_choice(kind):
    @df.region()
    def choice(a: int32[8], b: int32[8]):
        pipe: Stream[int32, 2]

        with allo.meta_if(kind == 0):

            @df.kernel(mapping=[1], args=[a])
            def send(x: int32[8]):
                for i in range(8):
                    pipe.put(x[i])

        with allo.meta_elif(kind == 1):

            @df.kernel(mapping=[1], args=[a])
            def send(x: int32[8]):
                for i in range(7, -1, -1):
                    pipe.put(x[i])

        with allo.meta_else():

            @df.kernel(mapping=[1])
            def fill():
                for i in range(8):
                    pipe.put(kind)

        @df.kernel(mapping=[1], args=[b])
        def receive(y: int32[8]):
            for i in range(8):
                y[i] = pipe.get()

    return choice


@df.region()
def lanes(a: int32[8], b: int32[8], add: int32):
    with allo.meta_for(2) as row, allo.meta_for(2) as column:
        lane: ConstExpr[index] = row * 2 + column
        inner: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[a])
        def read(x: int32[8]):
            for i in range(2):
                inner.put(x[lane * 2 + i])

        with allo.meta_if(lane % 2 == 0):

            @df.kernel(mapping=[1], args=[b])
            def write(y: int32[8]):
                for i in range(2):
                    y[lane * 2 + i] = inner.get() + add

        with allo.meta_else():

            @df.kernel(mapping=[1], args=[b])
            def negate(y: int32[8]):
                for i in range(2):
                    y[lane * 2 + i] = add - inner.get()


@df.region()
def widths(a: int32[8], b: int32[8]):
    with allo.meta_for(1, 3) as n:

        @df.kernel(mapping=[n], args=[a, b])
        def part(x: int32[8], y: int32[8]):
            p = df.get_pid()
            first: ConstExpr[index] = (n - 1) * 4 + p * (4 // n)
            for i in range(4 // n):
                y[first + i] = x[first + i] * n


PROGRAMS = {
    "chain": (chain, (), ((A * 2) * 2 + 1) * 2 + 2),
    "choice_0": (make_choice(0), (), A),
    "choice_1": (make_choice(1), (), A[::-1]),
    "choice_2": (make_choice(2), (), np.full(8, 2)),
    "lanes": (lanes, (10,), [10, 11, 8, 7, 14, 15, 4, 3]),
    "widths": (widths, (), A * np.array([1, 1, 1, 1, 2, 2, 2, 2])),
}


@pytest.mark.parametrize("target", ["oracle", "simulator", "vhls", "vitis_hls", "verilog"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_kernels_of_meta_blocks(program, target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    region, scalars, expected = program
    mod = (
        allo.interpret(region)
        if target == "oracle"
        else df.build(region, target=target, **engine(target))
    )
    b = np.zeros(8, np.int32)
    mod(A, b, *scalars)
    np.testing.assert_array_equal(b, expected)


def test_each_repetition_has_functions_and_fifos_of_its_own():
    names = df.customize(chain).kernel.functions
    assert [n for n in names if n.startswith("stage")] == ["stage_0_0", "stage_1_0", "stage_2_0"]
    text = str(df.customize(lanes).module)
    assert all(f'name = "inner_{row}_{column}"' in text for row in (0, 1) for column in (0, 1))


def test_a_kernel_of_a_repetition_is_scheduled_by_its_name():
    s = df.customize(chain)
    s.pipeline("stage_1_0:_")
    mod, b = s.build("verilog", simulator="jit"), np.zeros(8, np.int32)
    mod(A, b)
    np.testing.assert_array_equal(b, PROGRAMS["chain"][2])


def test_a_condition_that_is_not_known_is_refused():
    @df.region()
    def unknown(a: int32[8], n: int32):
        with allo.meta_if(n > 3):

            @df.kernel(mapping=[1], args=[a])
            def k(x: int32[8]):
                x[0] = 1

    with pytest.raises(CompileTimeError) as caught:
        df.customize(unknown)
    assert caught.value.message.startswith("The condition of meta_if must be known at compile time")


def test_names_of_a_block_end_with_it():
    @df.region()
    def ended(a: int32[8]):
        with allo.meta_if(REVERSED):
            pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[a])
        def k(x: int32[8]):
            pipe.put(x[0])

    with pytest.raises(UnknownNameError, match="The name 'pipe' is not defined"):
        df.customize(ended)


def test_a_computation_between_kernels_is_still_refused():
    @df.region()
    def computes(a: int32[8]):
        with allo.meta_for(2) as k:
            a[k] = 1

    with pytest.raises(DataflowError) as caught:
        df.customize(computes)
    assert caught.value.message == (
        "A region holds streams and kernels only, not a Assign statement."
    )
    with pytest.raises(DataflowError, match="A region holds streams and kernels only"):
        allo.interpret(computes)
