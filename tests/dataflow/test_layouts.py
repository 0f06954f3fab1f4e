"""Layouts of kernel parameters: each process sees its part of an array, on every target."""

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import (
    CompileTimeError,
    DataflowError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedTargetError,
)
from allo.ir.types import Stream, Struct, int16, int32, uint8
from allo.memory import Layout
from tests.engine import engine

S, R = Layout.Shard, Layout.Replicate
Pair = Struct({"x": int16, "y": int16})
ROWS, COLUMNS, BLOCKS = [S(0), R], Layout([R, S(1)]), [S(0), S(1)]


@df.region()
def product(A: int16[4, 6], B: int16[6, 4], C: int32[4, 4]):
    @df.kernel(mapping=[2, 2], args=[A, B, C])
    def core(a: int16[4, 6] @ ROWS, b: int16[6, 4] @ COLUMNS, c: int32[4, 4] @ BLOCKS):
        for i, j, k in allo.grid(2, 2, 6):
            c[i, j] += a[i, k] * b[k, j]


@df.region()
def cascade(A: int32[4, 6], B: int32[6, 4], C: int32[4, 4]):
    pipe: Stream[int32[2, 2], 2][2, 2, 2]

    @df.kernel(mapping=[3, 2, 2], args=[A, B, C])
    def core(
        a: int32[4, 6] @ [S(1), S(0)],
        b: int32[6, 4] @ [S(0), S(2)],
        c: int32[4, 4] @ [S(1), S(2)],
    ):
        k, m, n = df.get_pid()
        total: int32[2, 2] = allo.matmul(a, b)
        with allo.meta_if(k > 0):
            before: int32[2, 2] = pipe[k - 1, m, n].get()
            total[:, :] = allo.add(total, before)
        with allo.meta_if(k < 2):
            pipe[k, m, n].put(total)
        with allo.meta_else():
            c[:, :] = total


def thrice(x: int32[4]):
    for i in range(4):
        x[i] = x[i] * 3


@df.region()
def inner(x: int32[4], y: int32[4]):
    @df.kernel(mapping=[2], args=[x, y])
    def body(a: int32[4] @ [S(0)], b: int32[4] @ [S(0)]):
        p = df.get_pid()
        b += a[1] + p


@df.region()
def calls(A: int32[8], B: int32[8]):
    @df.kernel(mapping=[2], args=[A, B])
    def core(a: int32[8] @ [S(0)], b: int32[8] @ [S(0)]):
        inner(a, b)
        thrice(b)
        b = b - a


@df.region()
def crossed(A: int16[4, 6], B: int16[6, 4]):
    pipe: Stream[int16[2, 3], 2][2, 2]

    @df.kernel(mapping=[2, 2], args=[A])
    def sends(a: int16[4, 6] @ [S(1), S(0)]):
        i, j = df.get_pid()
        pipe[i, j].put(a)

    @df.kernel(mapping=[2, 2], args=[B])
    def takes(b: int16[6, 4] @ BLOCKS):
        i, j = df.get_pid()
        block: int16[2, 3] = pipe[i, j].get()
        b[:, :] = block.T


@df.region()
def words(P: Pair[4], B: uint8[32]):
    @df.kernel(mapping=[2], args=[P])
    def swaps(p: Pair[4] @ [S(0)]):
        for i in range(2):
            x: int16 = p[i]["x"]
            p[i]["x"] = p[i]["y"]
            p[i]["y"] = x

    @df.kernel(mapping=[32], args=[B])
    def sets(b: uint8[32] @ [S(0)]):
        b[0][0:2] = b[0][2:4]


def integers(*shape: int, dtype: type = np.int32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, 100, shape).astype(dtype)


def _pairs() -> np.ndarray:
    pairs = np.zeros(4, np.dtype([("x", "i2"), ("y", "i2")]))
    pairs["x"], pairs["y"] = integers(4), integers(4) - 50
    return pairs


def _swapped(P: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    swapped = P.copy()
    swapped["x"], swapped["y"] = P["y"], P["x"]
    return swapped, (B & 0xFC) | (B >> 2 & 3)


def _called(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    parts = A.reshape(4, 2)
    added = np.repeat(parts[:, 1] + [0, 1, 0, 1], 2)
    return A, ((B + added) * 3 - A).astype(np.int32)


PROGRAMS = {
    "product": (
        product,
        (integers(4, 6, dtype=np.int16), integers(6, 4, dtype=np.int16), integers(4, 4)),
        lambda A, B, C: (A, B, C + A.astype(np.int32) @ B),
    ),
    "cascade": (
        cascade,
        (integers(4, 6), integers(6, 4), integers(4, 4)),
        lambda A, B, C: (A, B, A @ B),
    ),
    "calls": (calls, (integers(8), integers(8)), _called),
    "crossed": (
        crossed,
        (integers(4, 6, dtype=np.int16), integers(6, 4, dtype=np.int16)),
        lambda A, B: (A, A.T),
    ),
    "words": (words, (_pairs(), integers(32, dtype=np.uint8)), _swapped),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("target", ["simulator", "vhls", "verilog", "interpret"])
def test_each_process_sees_its_part(program, target):
    region, given, expected = PROGRAMS[program]
    arrays = [array.copy() for array in given]
    run = (
        allo.interpret(region)
        if target == "interpret"
        else df.build(region, target=target, **engine(target))
    )
    run(*arrays)
    for found, wanted in zip(arrays, expected(*given), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("layout", [[R], [S(0)], []])
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


AXIS_HELP = "its one axis is 0."
PARTS_HELP = "S, R = Layout.Shard, Layout.Replicate; then write @ [S(0), R], an entry a dimension."


@pytest.mark.parametrize(
    ("layout", "extent", "error", "message", "help"),
    [
        (
            [S(1)],
            8,
            DataflowError,
            "cuts dimension 0 along axis 1 of the mapping [2] of core, which has no such axis.",
            AXIS_HELP,
        ),
        (
            [S("i")],
            8,
            DataflowError,
            "cuts dimension 0 along axis 'i' of the mapping [2] of core, which has no such axis.",
            AXIS_HELP,
        ),
        (
            [S(0)],
            7,
            ShapeMismatchError,
            "cuts dimension 0 of 7 elements in 2 parts, which are not equal.",
            "let the extent be a multiple of axis 0 of the mapping [2].",
        ),
        (
            [S(0), R],
            8,
            ShapeMismatchError,
            "has 2 entries for 1 dimension.",
            "write one entry a dimension; what is left out is R.",
        ),
        ("S0", 8, CompileTimeError, "is 'S0', not a list of Shard and Replicate.", PARTS_HELP),
        ([0], 8, CompileTimeError, "is [0], not a list of Shard and Replicate.", PARTS_HELP),
    ],
)
def test_a_wrong_layout_is_refused(layout, extent, error, message, help):
    @df.region()
    def top(A: int32[extent]):
        @df.kernel(mapping=[2], args=[A])
        def core(a: int32[extent] @ layout):
            a[0] = 1

    with pytest.raises(error) as caught:
        df.customize(top)
    assert caught.value.message == f"The layout of a {message}"
    assert caught.value.help == help
    assert caught.value.place.line


def test_the_part_has_its_own_extent():
    @df.region()
    def beyond(A: int32[8]):
        @df.kernel(mapping=[2], args=[A])
        def core(a: int32[8] @ [S(0)]):
            a[4] = 1

    @df.region()
    def declared_again(A: int32[8]):
        @df.kernel(mapping=[2], args=[A])
        def core(a: int32[8] @ [S(0)]):
            a: int32[8] = 0
            a[0] = 1

    with pytest.raises(ShapeMismatchError, match="4 for a dimension of extent 4 of a"):
        df.customize(beyond)
    with pytest.raises(TypeMismatchError, match=r"already declared as i32\[4\]"):
        df.customize(declared_again)


def test_a_layout_belongs_to_a_parameter_of_a_kernel():
    @df.region()
    def of_the_region(A: int32[8] @ [S(0)]):
        @df.kernel(mapping=[2], args=[A])
        def core(a: int32[8] @ [S(0)]):
            a[0] = 1

    @df.region()
    def of_a_variable(A: int32[8]):
        @df.kernel(mapping=[2], args=[A])
        def core(a: int32[8] @ [S(0)]):
            t: int32[8] @ [S(0)] = 0
            a[0] = t[0]

    for region, name in ((of_the_region, "A of of_the_region"), (of_a_variable, "t of core")):
        with pytest.raises(DataflowError, match="is no parameter of one") as caught:
            df.customize(region)
        assert caught.value.message.startswith(f"The layout of {name} lays an array over")


@pytest.mark.parametrize("target", ["aie", "npu"])
def test_a_build_for_the_npu_names_what_runs_its_programs(target):
    with pytest.raises(UnsupportedTargetError) as caught:
        df.build(product, target=target, mapping_primitives=None)
    assert caught.value.message == f"Target {target} is not supported."
    assert caught.value.help.startswith(
        "there is no compiler for AMD's NPU here; target='simulator' runs the same region"
    )
