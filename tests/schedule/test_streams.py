"""to and unfold."""

from __future__ import annotations

import pytest

from allo.errors import IllegalTransformError, ScheduleError, UnknownHandleError
from allo.schedule import Schedule
from tests.schedule.support import check_golden, count, kernel, refused, short, text
from tests.schedule.test_more_primitives import assert_same

PIPE = """
func.func @first(%A: memref<4x6xi32>, %X: memref<4x6xi32>) attributes {{arg_names = ["A", "X"]}} {{
  affine.for %i = 0 to 4 {{ affine.for %j = 0 to 6 {{
    %a = affine.load %A[%i, %j] {{from = "A"}} : memref<4x6xi32> loc("p.py":2:9)
    affine.store %a, %X[%i, %j] {{to = "X"}} : memref<4x6xi32> loc("p.py":3:9)
  }} {{loop_name = "j"}} loc("p.py":1:5) }} {{loop_name = "i", op_name = "W"}} loc("p.py":1:5)
  return
}}
func.func @second(%X: memref<4x6xi32>, %B: memref<4x6xi32>) attributes {{arg_names = ["X", "B"]}} {{
  affine.for %i = 0 to 4 {{ affine.for %j = 0 to 6 {{
    %a = affine.load %X[{subscript}] {{from = "X"}} : memref<4x6xi32> loc("p.py":7:9)
    affine.store %a, %B[%i, %j] {{to = "B"}} : memref<4x6xi32> loc("p.py":8:9)
  }} {{loop_name = "j"}} loc("p.py":6:5) }} {{loop_name = "i", op_name = "R"}} loc("p.py":6:5)
  return
}}
func.func @top(%A: memref<4x6xi32>, %B: memref<4x6xi32>) attributes {{arg_names = ["A", "B"]}} {{
  %X = memref.alloc() {{name = "X"}} : memref<4x6xi32> loc("p.py":12:5)
  call @first(%A, %X) : (memref<4x6xi32>, memref<4x6xi32>) -> () loc("p.py":13:5)
  call @second(%X, %B) : (memref<4x6xi32>, memref<4x6xi32>) -> () loc("p.py":14:5)
  return
}}
"""


def pipe(subscript: str = "%i, %j") -> Schedule:
    return short(PIPE.format(subscript=subscript), "top")


def test_to_makes_a_fifo_between_calls():
    s = pipe()
    s.to(s.X, "second", depth=3)
    assert count(s, r'memref<4x6xi32, "stream:3">') == 7
    assert "dataflow" in s.top_func.attributes
    assert_same(s, pipe())


def test_to_between_nests_holds_the_whole_array_by_default():
    s = kernel("producer")
    s.to(s.B, "C")
    assert 'memref<8x9xi32, "stream:72">' in text(s)


@pytest.mark.parametrize(
    ("subscript", "pattern"),
    [
        ("%i, -%j + 5", r"p.py:14:5: to X: the consumer reads its elements in another order"),
        ("%i, 0", "the elements written are not exactly the elements read"),
        ("%j mod 4, %i", "to X: an element is read more than once"),
    ],
)
def test_to_refuses_other_orders(subscript, pattern):
    s = pipe(subscript)
    refused(s, IllegalTransformError, pattern, lambda: s.to(s.X, "second"))


def test_to_refuses_other_misuse():
    s = pipe()
    refused(
        s,
        ScheduleError,
        r"the destination 'third' is no band or callee of top\.\nhelp: ",
        lambda: s.to(s.X, "third"),
    )
    refused(s, ScheduleError, "to A: second does not read the array", lambda: s.to(s.A, "second"))
    refused(
        s, ScheduleError, "the depth must be positive, got 0", lambda: s.to(s.X, "second", depth=0)
    )
    p = kernel("producer")
    refused(
        p,
        IllegalTransformError,
        "to C: an element is read more than once|another order",
        lambda: p.to(p.C, "D"),
    )


ARRAY = """
func.func @kernel(%A: memref<2x2xi32>, %i: index, %j: index) attributes {arg_names = ["A", "i", "j"]} {
  %a = memref.load %A[%i, %j] : memref<2x2xi32> loc("p.py":2:9)
  %b = arith.addi %a, %a : i32 loc("p.py":2:9)
  memref.store %b, %A[%i, %j] : memref<2x2xi32> loc("p.py":3:9)
  return
}
func.func @top(%A: memref<2x2xi32>) attributes {arg_names = ["A"]} {
  affine.for %i = 0 to 2 { affine.for %j = 0 to 2 {
    func.call @kernel(%A, %i, %j) : (memref<2x2xi32>, index, index) -> () loc("p.py":7:9)
  } {loop_name = "j"} loc("p.py":6:5) } {loop_name = "i", op_name = "PE"} loc("p.py":6:5)
  return
}
"""


@pytest.mark.parametrize(
    ("axes", "callees"),
    [
        ([0], ["kernel_0", "kernel_1"]),
        ([1], ["kernel_0", "kernel_1"]),
        ([0, 1], ["kernel_0_0", "kernel_0_1", "kernel_1_0", "kernel_1_1"]),
    ],
)
def test_unfold_makes_functions_of_their_own(axes, callees):
    s, original = short(ARRAY), short(ARRAY)
    assert s.unfold("PE", axes) == axes
    assert count(s, "call @kernel") == len(callees)
    assert all(f"call @{name}(" in text(s) and f"func.func @{name}(" in text(s) for name in callees)
    assert "@kernel(" not in text(s)
    assert_same(s, original)
    check_golden(s, f"unfold_{'_'.join(map(str, axes))}")


@pytest.mark.parametrize(
    ("axes", "error", "pattern"),
    [
        ([0, 2], AssertionError, r"unfold: Axes must be consecutive, got \[0, 2\]"),
        (1, AssertionError, "unfold: Axes must be a list of loop positions, got 1"),
        ([1, 2], ScheduleError, "the nest has 2 perfectly nested loops, axis 2 does not exist"),
    ],
)
def test_unfold_refuses(axes, error, pattern):
    s = short(ARRAY)
    refused(s, error, pattern, lambda: s.unfold("PE", axes))
    refused(s, UnknownHandleError, "Band PF not found in function top", lambda: s.unfold("PF", [0]))


IN_TURN = """
func.func @top(%A: memref<4x6xi32>, %B: memref<4x6xi32>) attributes {arg_names = ["A", "B"]} {
  %X = memref.alloc() {name = "X"} : memref<4x6xi32> loc("p.py":2:5)
  affine.for %i = 0 to 4 { affine.for %j = 0 to 6 {
    %a = affine.load %A[%i, %j] {from = "A"} : memref<4x6xi32> loc("p.py":4:9)
    affine.store %a, %X[%i, %j] {to = "X"} : memref<4x6xi32> loc("p.py":4:5)
  } {loop_name = "j"} } {loop_name = "i", op_name = "W"} loc("p.py":3:5)
  affine.for %i = 0 to 4 { affine.for %j = 0 to 6 {
    %a = affine.load %X[%i, %j] {from = "X"} : memref<4x6xi32> loc("p.py":7:9)
    affine.store %a, %B[%i, %j] {to = "B"} : memref<4x6xi32> loc("p.py":8:9)
  } {loop_name = "j"} } {loop_name = "i", op_name = "R"} loc("p.py":6:5)
  return
}
"""


@pytest.mark.parametrize(("band", "word"), [("R", "load"), ("W", "store")])
def test_the_order_of_a_fifo_is_kept_by_what_follows(band, word):
    s = short(IN_TURN, "top")
    s.to(s.X, "R", depth=3)
    loops = s.get_loops()[band]
    refused(
        s,
        IllegalTransformError,
        rf"p.py:\d+.* it breaks a first-in-first-out dependence on X; the {word} of X at .*"
        "help: a FIFO gives its elements in the order in which it got them",
        lambda: s.reorder(loops["j"], loops["i"]),
    )
    s.split(loops["i"], 2)
    s.fuse(s.get_loops()[band]["i.inner"], s.get_loops()[band]["j"])
    assert_same(s, short(IN_TURN, "top"))


def test_without_a_fifo_both_may_be_reordered():
    s = short(IN_TURN, "top")
    for band in ("W", "R"):
        s.reorder(s.get_loops()[band]["j"], s.get_loops()[band]["i"])
    s.to(s.X, "R", depth=3)
    assert_same(s, short(IN_TURN, "top"))
