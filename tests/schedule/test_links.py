"""to along an axis of unfolded processes, and buffer_at of the operands of gemm: what they accept."""

from __future__ import annotations

import re

import pytest

import allo
from allo.errors import IllegalTransformError, ScheduleError
from allo.ir.types import index, int8, int32
from allo.ir.utils import MockBuffer
from allo.schedule import Schedule
from tests.schedule.support import count, refused, text

K, M, N = 5, 2, 3


def cell(
    A_in: int8[K], B_in: int8[K], A_out: int8[K], B_out: int8[K], C: int32[M, N], i: index, j: index
):
    acc: int32 = 0
    for k in range(K, name="reduction"):
        a: int8 = A_in[k]
        b: int8 = B_in[k]
        acc += a * b
        A_out[k] = a
        B_out[k] = b
    C[i, j] = acc


def tile(A: int8[M, K], B: int8[K, N], C: int32[M, N]):
    A_fifo: int8[M, N + 1, K]
    B_fifo: int8[N, M + 1, K]
    A_drain: int8[M]
    B_drain: int8[N]
    for k in range(K, name="data_load"):
        for m in range(M):
            A_fifo[m, 0, k] = A[m, k]
        for n in range(N):
            B_fifo[n, 0, k] = B[k, n]
    for i, j in allo.grid(M, N, name="PE"):
        cell(A_fifo[i, j], B_fifo[j, i], A_fifo[i, j + 1], B_fifo[j, i + 1], C, i, j)
    for k in range(K, name="data_drain"):
        for m in range(M):
            A_drain[m] = A_fifo[m, N, k]
        for n in range(N):
            B_drain[n] = B_fifo[n, M, k]


def linked() -> Schedule:
    s = allo.customize(tile)
    cells = s.unfold("tile:PE", [0, 1])
    s.to(s.A_fifo, cells, axis=1, depth=M + 1)
    s.to(s.B_fifo, cells, axis=0, depth=N + 1)
    return s


def test_each_row_and_column_becomes_fifos():
    s = linked()
    assert 'memref<2x4x5xi8, "stream:3;SST">' in text(s)
    assert 'memref<3x3x5xi8, "stream:4;SST">' in text(s)
    assert "dataflow" in s.top_func.attributes
    assert count(s, r"call @cell_\d_\d\(") == M * N


def test_the_depth_is_the_whole_of_a_link_by_default():
    s = allo.customize(tile)
    s.to(s.A_fifo, s.unfold("PE", [0, 1]), axis=1)
    assert f'memref<2x4x5xi8, "stream:{K};SST">' in text(s)


def test_a_row_of_processes():
    def shift(x: int32[4, K], i: index):
        for k in range(K):
            x[i + 1, k] = x[i, k] + 1

    def chain(X: int32[K], Y: int32[K]):
        links: int32[4, K]
        for k in range(K, name="enter"):
            links[0, k] = X[k]
        for i in allo.grid(3, name="row"):
            shift(links, i)
        for k in range(K, name="leave"):
            Y[k] = links[3, k]

    s = allo.customize(chain)
    s.to(s.links, s.unfold("row", [0]), axis=0, depth=1)
    assert 'memref<4x5xi32, "stream:1;ST">' in text(s)
    assert s.build(target="vhls").hls_code.count("hls::stream< int32_t > links_") == 4


@pytest.mark.parametrize(
    ("dst", "options", "pattern"),
    [
        ("cells", {"axis": 1, "depth": 0}, "to A_fifo: the depth must be positive, got 0"),
        (
            "cells",
            {"axis": 2},
            r"axis 2 is none of the unfolded axes \[0, 1\]\..*help: axis is the",
        ),
        (
            "cells",
            {"axis": 0},
            r"A_fifo\[0, 1\] leads from PE_0_0 to PE_0_1, which is not along axis 0\..*help: pass axis=1",
        ),
        ("PE", {"axis": 1}, "with axis=1 the destination is the list of unfolded axes, got 'PE'"),
        (
            [0],
            {"axis": 0},
            r"of PE, unfolded on 2 axes, not of one nest unfolded on the axes \[0\]",
        ),
    ],
)
def test_to_refuses_wrong_axes_and_depths(dst, options, pattern):
    s = allo.customize(tile)
    cells = s.unfold("PE", [0, 1])
    refused(
        s,
        ScheduleError,
        pattern,
        lambda: s.to(s.A_fifo, cells if dst == "cells" else dst, **options),
    )


def test_to_needs_processes():
    s = allo.customize(tile)
    refused(
        s,
        ScheduleError,
        r'no unfolded processes use it\..*help: .*pe = s.unfold\("PE", \[0, 1\]\)',
        lambda: s.to(s.A_fifo, [0, 1], axis=1, depth=3),
    )
    refused(s, ScheduleError, "to A: it is an argument of tile", lambda: s.to(s.A, [0, 1], axis=1))


def doubled(x: int32[3, K], i: index):
    for k in range(K):
        x[i + 1, k] = x[i, k] + x[i, k]


def backwards(x: int32[3, K], i: index):
    for k in range(K):
        x[i + 1, k] = x[i, K - 1 - k]


def rewritten(x: int32[3, K], i: index):
    for k in range(K):
        x[i + 1, k] = 0
        x[i + 1, k] = x[i, k]


def shortened(x: int32[3, K], i: index):
    for k in range(K - 1):
        x[i + 1, k] = x[i, k]


def gathered(x: int32[3, K], i: index):
    at: int32[1] = 0
    for k in range(K):
        value: int32 = x[i, at[0]]
        x[i + 1, k] = value


def sifted(x: int32[3, K], i: index):
    for k in range(K):
        value: int32 = x[i, k]
        if value > 0:
            x[i + 1, k] = value


@pytest.mark.parametrize(
    ("process", "pattern"),
    [
        (
            doubled,
            r"element \[0\] of links\[0\] is read 2 times\..*help: .*read it once into a",
        ),
        (
            backwards,
            r"read in another order than they are written: \[0\] is the next one in, \[4\]",
        ),
        (
            rewritten,
            r"element \[0\] of links\[1\] is written 2 times\..*help: .*accumulate in a scalar",
        ),
        (shortened, r"element \[4\] of links\[0\] is written and not read"),
        (gathered, "the subscripts of an access depend on data, or are not affine, so the order"),
        (sifted, "an access runs under a condition, or in a loop, that depends on data"),
    ],
)
def test_to_refuses_what_is_not_first_in_first_out(process, pattern):
    def chain(X: int32[K], Y: int32[K]):
        links: int32[3, K]
        for k in range(K, name="enter"):
            links[0, k] = X[k]
        for i in allo.grid(2, name="row"):
            process(links, i)
        for k in range(K, name="leave"):
            Y[k] = links[2, k]

    s = allo.customize(chain)
    row = s.unfold("row", [0])
    refused(s, IllegalTransformError, pattern, lambda: s.to(s.links, row, axis=0, depth=2))


def test_what_enters_must_leave():
    def chain(X: int32[K], Y: int32[2]):
        links: int32[3, K]
        for k in range(K, name="enter"):
            links[0, k] = X[k]
        for i in allo.grid(2, name="row"):
            for k in range(K):
                value: int32 = links[i, k]
                Y[i] += value
                links[i + 1, k] = value

    s = allo.customize(chain)
    row = s.unfold("row", [0])
    refused(
        s,
        IllegalTransformError,
        r"links\[2\] is written by row_1 and never read\..*help: .*one that drains the last",
        lambda: s.to(s.links, row, axis=0, depth=2),
    )


def test_a_row_for_all_processes_has_several_readers():
    def share(X: int32[K], Y: int32[2, 2]):
        links: int32[2, K]
        for i, k in allo.grid(2, K, name="enter"):
            links[i, k] = X[k]
        for i, j in allo.grid(2, 2, name="cells"):
            for k in range(K):
                Y[i, j] += links[i, k]

    s = allo.customize(share)
    cells = s.unfold("cells", [0, 1])
    refused(
        s,
        IllegalTransformError,
        r"is read by 2 processes: cells_0_0, cells_0_1|only 1 stay at one index",
        lambda: s.to(s.links, cells, axis=1, depth=2),
    )


def late(A: int8[M, K], B: int8[K, N], C: int32[M, N]):
    """All of A enters before any of B."""
    A_fifo: int8[M, N + 1, K]
    B_fifo: int8[N, M + 1, K]
    rest: int8[1]
    for once in range(1, name="data_load"):
        for k, m in allo.grid(K, M):
            A_fifo[m, 0, k] = A[m, k]
        for k, n in allo.grid(K, N):
            B_fifo[n, 0, k] = B[k, n]
    for i, j in allo.grid(M, N, name="PE"):
        cell(A_fifo[i, j], B_fifo[j, i], A_fifo[i, j + 1], B_fifo[j, i + 1], C, i, j)
    for k in range(K, name="data_drain"):
        for m in range(M):
            rest[0] = A_fifo[m, N, k]
        for n in range(N):
            rest[0] = B_fifo[n, M, k]


def late_linked(depth: int, *, pipelined: bool) -> Schedule:
    s = allo.customize(late)
    if pipelined:
        s.pipeline("cell:k")
    cells = s.unfold("PE", [0, 1])
    s.to(s.A_fifo, cells, axis=1, depth=depth)
    s.to(s.B_fifo, cells, axis=0, depth=1)
    return s


@pytest.mark.parametrize("pipelined", [False, True])
def test_a_depth_that_lets_processes_wait_for_ever(pipelined):
    """A cell that is no pipeline takes an element of A while it waits for B; a pipelined one does not."""
    enough = K if pipelined else K - 1
    pattern = (
        rf"A_fifo as FIFOs of depth {enough - 1}: the processes wait for each other for ever, data_load "
        rf"first, at A_fifo\[0, 0\], which is full\..*help: a depth of {enough} is enough"
    )
    with pytest.raises(IllegalTransformError, match=re.compile(pattern, re.DOTALL)):
        late_linked(enough - 1, pipelined=pipelined)
    assert f"stream:{enough};SST" in text(late_linked(enough, pipelined=pipelined))


def test_a_pipeline_made_afterwards_is_found_by_the_build():
    s = late_linked(K - 1, pipelined=False)
    s.build(target="vhls")
    for i in range(M):
        for j in range(N):
            s.pipeline(f"cell_{i}_{j}:k")
    with pytest.raises(IllegalTransformError, match="the processes wait for each other for ever"):
        s.build(target="verilog")


def test_hardware_needs_all_of_what_processes_share_to_be_fifos():
    s = allo.customize(tile)
    s.to(s.A_fifo, s.unfold("PE", [0, 1]), axis=1, depth=4)
    for target in ("vhls", "verilog"):
        with pytest.raises(IllegalTransformError, match="run side by side, but both use B_fifo"):
            s.build(target=target)
    s.build()


def test_an_order_changed_afterwards_is_found_by_the_build():
    def chain(X: int32[4, 3], Y: int32[4, 3]):
        links: int32[3, 4, 3]
        for p, q in allo.grid(4, 3, name="enter"):
            links[0, p, q] = X[p, q]
        for i in allo.grid(2, name="row"):
            for a, b in allo.grid(4, 3):
                links[i + 1, a, b] = links[i, a, b]
        for c, d in allo.grid(4, 3, name="leave"):
            Y[c, d] = links[2, c, d]

    s = allo.customize(chain)
    s.to(s.links, s.unfold("row", [0]), axis=0, depth=2)
    s.build(target="vhls")
    s.reorder("q", "p")
    with pytest.raises(
        IllegalTransformError, match=r"the elements of links\[0\] are read in another"
    ):
        s.build(target="vhls")


def gemm(A: int8[M, K], B: int8[K, N], C: int32[M, N]):
    for i, j in allo.grid(M, N, name="PE"):
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]


def test_buffer_at_lets_an_operand_flow():
    s = allo.customize(gemm)
    assert s.systolic
    buf_A, buf_B = s.buffer_at(s.A, "j"), s.buffer_at(s.B, "i")
    assert (buf_A, buf_B) == (s.A_fifo, s.B_fifo)
    assert list(dict(s.get_loops())) == ["load_A", "load_B", "PE", "drain_B", "drain_A"]
    assert "memref<2x4x5xi8>" in text(s)
    assert "memref<3x3x5xi8>" in text(s)
    assert count(s, 'name = "C_cell"') == 1


@pytest.mark.parametrize(
    ("primitive", "array", "axis", "pattern"),
    [
        (
            "feed",
            "A",
            "i",
            "A flow along loop i: it is not subscripted by the innermost loop and the other",
        ),
        (
            "buffer_at",
            "B",
            "k",
            "B flow along loop k: it is the innermost loop, whose steps each cell makes",
        ),
    ],
)
def test_operands_that_do_not_stand_still_are_refused(primitive, array, axis, pattern):
    s = allo.customize(gemm)
    refused(s, ScheduleError, pattern, lambda: getattr(s, primitive)(getattr(s, array), axis))


def test_buffer_at_wants_the_sum_innermost():
    s = allo.customize(gemm)
    s.reorder("k", "j")
    refused(s, ScheduleError, "the sum is innermost", lambda: s.buffer_at(s.A, "k"))


def test_a_reader_stands_behind_its_writer():
    def chain(X: int32[K], Y: int32[K]):
        links: int32[2, K]
        for k in range(K, name="leave"):
            Y[k] = links[1, k]
        for i in allo.grid(1, name="row"):
            for k in range(K):
                links[i + 1, k] = links[i, k]
        for k in range(K, name="enter"):
            links[0, k] = X[k]

    s = allo.customize(chain)
    row = s.unfold("row", [0])
    refused(
        s,
        IllegalTransformError,
        r"row_0 reads links\[0\] before enter, which writes it, runs\..*from a process to a later",
        lambda: s.to(s.links, row, axis=0, depth=2),
    )


def test_a_plain_reader_stands_behind_its_writer():
    def chain(X: int32[K], Y: int32[K]):
        links: int32[K]
        for k in range(K, name="leave"):
            Y[k] = links[k]
        for m in range(K, name="enter"):
            links[m] = X[m]

    s = allo.customize(chain)
    refused(s, ScheduleError, "leave reads the array before it is", lambda: s.to(s.links, "leave"))


def test_processes_share_no_variable():
    def chain(X: int32[K], Y: int32[K]):
        links: int32[2, K]
        bias: int32 = X[0]
        for k in range(K, name="enter"):
            links[0, k] = X[k]
        for i in allo.grid(1, name="row"):
            for k in range(K):
                links[i + 1, k] = links[i, k] + bias
        for k in range(K, name="leave"):
            Y[k] = links[1, k]

    s = allo.customize(chain)
    s.to(s.links, s.unfold("row", [0]), axis=0, depth=2)
    with pytest.raises(IllegalTransformError, match="row_0 runs beside .* share the variable bias"):
        s.build(target="vhls")


def test_an_array_passed_twice_is_one_array():
    def row(x: int32[2, K], i: index):
        for k in range(K):
            x[i + 1, k] = x[i, k]

    def stage(X: int32[K], Y: int32[K]):
        links: int32[2, K]
        for k in range(K, name="enter"):
            links[0, k] = X[K - 1 - k]
        for i in allo.grid(1, name="row"):
            row(links, i)
        for k in range(K, name="leave"):
            Y[k] = links[1, k]

    def twice(Z: int32[K]):
        stage(Z, Z)

    s = allo.customize(twice)
    cells = s.unfold("stage:row", [0])
    s.to(MockBuffer("stage", "links"), cells, axis=0, depth=K)
    with pytest.raises(
        IllegalTransformError, match="enter and leave run side by side, but both use"
    ):
        s.build(target="verilog")


def test_partitions_of_fifos_are_left_out():
    s = allo.customize(tile)
    s.partition(s.A_fifo, dim=1)
    cells = s.unfold("PE", [0, 1])
    s.to(s.A_fifo, cells, axis=1, depth=M + 1)
    s.to(s.B_fifo, cells, axis=0, depth=N + 1)
    s.partition(s.B_fifo, dim=2)
    assert "array_partition" not in s.build(target="vhls").hls_code


def test_a_process_does_not_hand_a_fifo_on():
    def inner(x: int32[2, K], i: index):
        for k in range(K):
            x[i + 1, k] = x[i, k]

    def outer(x: int32[2, K], i: index):
        inner(x, i)

    def chain(X: int32[K], Y: int32[K]):
        links: int32[2, K]
        for k in range(K, name="enter"):
            links[0, k] = X[k]
        for i in allo.grid(1, name="row"):
            outer(links, i)
        for k in range(K, name="leave"):
            Y[k] = links[1, k]

    s = allo.customize(chain)
    row = s.unfold("row", [0])
    refused(
        s,
        IllegalTransformError,
        "row_0 hands it on to function inner.*in the process itself",
        lambda: s.to(s.links, row, axis=0, depth=2),
    )
