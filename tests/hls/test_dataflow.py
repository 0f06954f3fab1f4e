"""Regions: the emitted text, and csim with exact FIFO depths, deadlocks and hierarchy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allo.errors import DeadlockError, SimulationError

from .harness import build, function, module

DATA = Path(__file__).parent.parent / "data"
FORK = (DATA / "dataflow_forkjoin.mlir").read_text()
NESTED = (DATA / "dataflow_nested.mlir").read_text()
BURST = (DATA / "dataflow_burst.mlir").read_text()
SYSTOLIC = (DATA / "dataflow_systolic_i8.mlir").read_text()
RNG = np.random.default_rng(21)
TARGETS = ("vhls", "vitis_hls", "catapult")


def fork_join(a: np.ndarray) -> np.ndarray:
    return (a.reshape(4, 3) * a.reshape(4, 3).sum(axis=1, keepdims=True)).astype(np.int32).ravel()


def test_text_of_a_region():
    code = build(FORK).hls_code
    assert (
        "void fork_0(\n  int32_t a[12],\n  hls::stream< int32_t >& left,\n"
        "  hls::stream< int32_t >& right\n) {"
    ) in code
    assert "    left.write(v0);\t// forkjoin.py:12\n    right.write(v0);\t// forkjoin.py:13" in code
    assert "int32_t v0 = left.read();\t// forkjoin.py:20" in code
    top = code[code.index("/// This is top function.") :]
    assert top.splitlines() == [
        "/// This is top function.",
        "void top(",
        "  int32_t A[12],",
        "  int32_t B[12]",
        ") {\t// forkjoin.py:3",
        "  #pragma HLS dataflow",
        "  hls::stream< int32_t > left;\t// forkjoin.py:4",
        "  #pragma HLS stream variable=left depth=1",
        "  hls::stream< int32_t > right;\t// forkjoin.py:5",
        "  #pragma HLS stream variable=right depth=3",
        "  hls::stream< int32_t > sums;\t// forkjoin.py:6",
        "  #pragma HLS stream variable=sums depth=1",
        "  fork_0(A, left, right);\t// forkjoin.py:9",
        "  total_0(left, sums);\t// forkjoin.py:17",
        "  join_0(B, sums, right);\t// forkjoin.py:24",
        "}",
    ]
    assert "allo_csim" not in code


def test_text_of_block_streams():
    code = build(NESTED, top="outer").hls_code
    assert "hls::stream< hls::vector< int16_t, 4 > >& blocks" in code
    assert "#pragma HLS stream variable=blocks depth=2" in code
    assert "hls::vector< int16_t, 4 > v0 = blocks.read();" in code


@pytest.mark.parametrize("target", TARGETS)
def test_fork_join_runs_at_depth_3(target):
    a, b = RNG.integers(-50, 50, 12).astype(np.int32), np.zeros(12, np.int32)
    build(FORK, target)(a, b)
    np.testing.assert_array_equal(b, fork_join(a))


def test_fork_join_deadlocks_at_depth_1():
    shallow = FORK.replace("depth = 3", "depth = 1")
    mod = build(shallow)
    with pytest.raises(DeadlockError) as caught:
        mod(np.zeros(12, np.int32), np.zeros(12, np.int32))
    assert str(caught.value).splitlines() == [
        "forkjoin.py:3:1: top deadlocks: 3 processes wait and none of the 3 that have not "
        "finished can go on.",
        "note: forkjoin.py:13:13: fork_0 waits to put into FIFO right (1 of 1 filled); "
        "its reader join_0 waits to get from FIFO sums.",
        "note: forkjoin.py:20:20: total_0 waits to get from FIFO left (0 of 1 filled); "
        "its writer fork_0 waits to put into FIFO right.",
        "note: forkjoin.py:26:23: join_0 waits to get from FIFO sums (0 of 1 filled); "
        "its writer total_0 waits to get from FIFO left.",
        "help: FIFO right needs a depth of 2: with it this call ends. Or take from it earlier.",
    ]
    for again in (mod, build(shallow, "simulator")):
        with pytest.raises(DeadlockError) as other:
            again(np.zeros(12, np.int32), np.zeros(12, np.int32))
        assert str(other.value) == str(caught.value)


@pytest.mark.parametrize("target", TARGETS)
def test_hierarchical_regions_and_blocks(target):
    a = RNG.integers(-100, 100, (6, 4)).astype(np.int16)
    b, c = np.zeros_like(a), np.zeros_like(a)
    build(NESTED, target, "outer")(a, b, c)
    np.testing.assert_array_equal(b, a * 3)
    np.testing.assert_array_equal(c, b * 5)


def test_burst_larger_than_the_fifo():
    a, b = RNG.random(32, np.float32), np.zeros(32, np.float32)
    build(BURST, "vitis_hls")(a, b)
    expected = np.zeros(32, np.float32)
    build(BURST, "simulator")(a, expected)
    np.testing.assert_array_equal(b, expected)
    assert (b != 0).any()


def test_systolic_array():
    a, b = (RNG.integers(-128, 128, (8, 8)).astype(np.int8) for _ in range(2))
    c = np.zeros((8, 8), np.int32)
    build(SYSTOLIC, "vitis_hls")(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b)


def chain(stages: int) -> str:
    """``stages`` processes in a row, defined from last to first."""
    put = """
    affine.for %i = 0 to 8 {
      %v = affine.load %a[%i] : memref<8xi32>
      "allo.put"(%s, %v) : (index, i32) -> ()
    } {loop_name = "i"}
    return"""
    add = """
    %one = arith.constant 1 : i32
    affine.for %i = 0 to 8 {
      %v = "allo.get"(%s) : (index) -> i32
      %w = arith.addi %v, %one : i32
      "allo.put"(%t, %w) : (index, i32) -> ()
    } {loop_name = "i"}
    return"""
    take = """
    affine.for %i = 0 to 8 {
      %v = "allo.get"(%s) : (index) -> i32
      affine.store %v, %a[%i] : memref<8xi32>
    } {loop_name = "i"}
    return"""
    kind = "stream<i32, 1>"
    region = "".join(
        f'%s{k} = "allo.stream"() {{name = "s{k}", dtype = "i32", depth = 1 : i32}} : () -> index\n'
        for k in range(stages + 1)
    )
    region += f"call @take(%b, %s{stages}) : (memref<8xi32>, index) -> ()\n"
    for k in reversed(range(stages)):
        region += f"call @add(%s{k}, %s{k + 1}) : (index, index) -> ()\n"
    region += "call @put(%a, %s0) : (memref<8xi32>, index) -> ()\nreturn"
    top = function("top", "%a: memref<8xi32>,%b: memref<8xi32>", region, ["i32", "i32"])
    return module(
        function("put", "%a: memref<8xi32>,%s: index", put, ["i32", kind]),
        function("add", "%s: index,%t: index", add, [kind, kind]),
        function("take", "%a: memref<8xi32>,%s: index", take, ["i32", kind]),
        top.replace("attributes {", "attributes {dataflow, region, "),
    )


def test_many_processes_in_reverse_order():
    a, b = RNG.integers(-1000, 1000, 8).astype(np.int32), np.zeros(8, np.int32)
    build(chain(300))(a, b)
    np.testing.assert_array_equal(b, a + 300)


def test_a_reader_without_a_writer_is_reported():
    take = """
    %v = "allo.get"(%s) : (index) -> i32
    affine.store %v, %a[0] : memref<1xi32>
    return"""
    region = """
    %s = "allo.stream"() {name = "lonely", dtype = "i32", depth = 2 : i32} : () -> index
    call @take(%a, %s) : (memref<1xi32>, index) -> ()
    return"""
    text = module(
        function("take", "%a: memref<1xi32>,%s: index", take, ["i32", "stream<i32, 2>"]),
        function("top", "%a: memref<1xi32>", region, ["i32"]).replace(
            "attributes {", "attributes {dataflow, region, "
        ),
    )
    with pytest.raises(DeadlockError) as caught:
        build(text)(np.zeros(1, np.int32))
    assert "take waits to get from FIFO lonely (0 of 2 filled); it has no writer." in str(
        caught.value
    )
    sequential = text.replace("dataflow, region, ", "")
    with pytest.raises(SimulationError) as caught:
        build(sequential)(np.zeros(1, np.int32))
    assert caught.value.message == (
        "top reads the FIFO lonely while it is empty, outside a dataflow region."
    )


def test_assertions_name_their_place():
    body = """
    %zero = arith.constant 0 : i32
    %v = affine.load %a[0] : memref<1xi32>
    %c = arith.cmpi sge, %v, %zero : i32
    "allo.assert"(%c) {message = "v is \\"negative\\""} : (i1) -> () loc("k.py":7:5 to :9)
    "allo.print"(%v) {before = "{100%} v = ", after = "\\0A", dtype = "i32"} : (i32) -> ()
    "allo.print"() {before = "the end\\0A", after = "", dtype = ""} : () -> ()
    return"""
    mod = build(module(function("top", "%a: memref<1xi32>", body, ["i32"])))
    mod(np.array([3], np.int32))
    with pytest.raises(SimulationError) as caught:
        mod(np.array([-3], np.int32))
    assert str(caught.value) == 'k.py:7:5: Assertion failed: v is "negative"'
    assert '  printf("{100%%} v = %lld\\n", (long long)v0);' in mod.hls_code
    assert '  printf("the end\\n");' in mod.hls_code


def test_views_as_arguments():
    total = """
    %s = memref.alloc() {name = "s"} : memref<i32>
    %z = arith.constant 0 : i32
    affine.store %z, %s[] : memref<i32>
    affine.for %i = 0 to 4 {
      %v = affine.load %x[%i] : memref<4xi32, strided<[?], offset: ?>>
      %t = affine.load %s[] : memref<i32>
      %u = arith.addi %v, %t : i32
      affine.store %u, %s[] : memref<i32>
      affine.store %u, %x[%i] : memref<4xi32, strided<[?], offset: ?>>
    } {loop_name = "i"}
    %r = affine.load %s[] : memref<i32>
    return %r : i32"""
    cast = "memref<4xi32, strided<[?], offset: ?>>"
    top = f"""
    affine.for %i = 0 to 3 {{
      %row = memref.subview %a[%i, 1] [1, 4] [1, 1] : memref<3x6xi32>
        to memref<4xi32, strided<[1], offset: ?>>
      %r = memref.cast %row : memref<4xi32, strided<[1], offset: ?>> to {cast}
      %p = func.call @total(%r) : ({cast}) -> i32
      %col = memref.subview %b[0, %i] [4, 1] [2, 1] : memref<8x3xi32>
        to memref<4xi32, strided<[6], offset: ?>>
      %c = memref.cast %col : memref<4xi32, strided<[6], offset: ?>> to {cast}
      %q = func.call @total(%c) : ({cast}) -> i32
      %s = arith.addi %p, %q : i32
      affine.store %s, %o[%i] : memref<3xi32>
    }} {{loop_name = "i"}}
    return"""
    text = module(
        function("total", f"%x: {cast}", total, ["i32"], "-> i32", ["i32"]),
        function(
            "top",
            "%a: memref<3x6xi32>,%b: memref<8x3xi32>,%o: memref<3xi32>",
            top,
            ["i32", "i32", "i32"],
        ),
    )
    from .harness import same_as_cpu

    args = [RNG.integers(-99, 99, s).astype(np.int32) for s in ((3, 6), (8, 3), (3,))]
    for target in TARGETS:
        same_as_cpu(text, args, target=target)
    assert "total(&a[i][1], &v0);" in build(text).hls_code
