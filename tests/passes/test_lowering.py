"""lower_bulk, unroll and forward: the same answers, the promised shape."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from allo.dialects._mlir import ir, make_context
from allo.dialects.passes.forward import forward_scalars
from allo.dialects.passes.lower_bulk import lower_bulk
from allo.dialects.passes.unroll import unroll_loops
from tests.interpreter import copied, run_module

DATA = Path(__file__).parent.parent / "data"


def parse(text: str) -> ir.Module:
    return ir.Module.parse(text, make_context())


def arguments(module: ir.Module, top: str, seed: int = 0):
    rng = np.random.default_rng(seed)
    with module.context:
        for op in module.body.operations:
            name = ir.StringAttr(op.operation.attributes["sym_name"]).value
            if name != top:
                continue
            kind = ir.FunctionType(ir.TypeAttr(op.operation.attributes["function_type"]).value)
            return [_value(t, rng) for t in kind.inputs]
    raise KeyError(top)


def _value(kind, rng):
    if not isinstance(kind, ir.MemRefType):
        return int(rng.integers(0, 5))
    shape = list(kind.shape)
    if isinstance(kind.element_type, ir.F32Type):
        return rng.standard_normal(shape).astype(np.float32)
    return np.array(rng.integers(-100, 100, shape).tolist(), dtype=object).reshape(shape)


def same_answers(text: str, top: str, *passes) -> ir.Module:
    """Run before and after the passes on two random inputs; every element must be equal."""
    before, after = parse(text), parse(text)
    for apply in passes:
        apply(after)
    assert after.operation.verify()
    for seed in range(2):
        first = arguments(before, top, seed)
        second = copied(first)
        r1, r2 = run_module(before, top, first), run_module(after, top, second)
        for x, y in zip([*first, *r1], [*second, *r2], strict=True):
            np.testing.assert_array_equal(x, y)
    return after


def function(body: str) -> str:
    return (
        "func.func @f(%A: memref<7x5xi32>, %B: memref<7x5xi32>, %n: i32) attributes "
        '{arg_names = ["A", "B", "n"]} {\n' + body + "\nreturn }"
    )


def test_bulk_operations_become_pipelined_nests():
    after = same_answers(
        function(
            """
            linalg.fill ins(%n : i32) outs(%A : memref<7x5xi32>) loc("k.py":3:5)
            memref.copy %A, %B : memref<7x5xi32> to memref<7x5xi32> loc("k.py":4:5)
            %s = memref.alloc() {name = "s"} : memref<i32>
            linalg.fill ins(%n : i32) outs(%s : memref<i32>)"""
        ),
        "f",
        lower_bulk,
    )
    text = str(after)
    assert "linalg.fill" not in text and "memref.copy" not in text
    assert 'loop_name = "A_fill_1", pipeline_ii = 1 : ui32' in text
    assert 'loop_name = "B_copy_0", op_name = "B_copy"' in text
    located = after.operation.get_asm(enable_debug_info=True, pretty_debug_info=True)
    assert (located.count(" k.py:3:5"), located.count(" k.py:4:5")) == (6, 7)


def test_bulk_of_a_dynamic_array_takes_its_extent():
    fill = "linalg.fill ins(%n : i32) outs(%A : memref<?xi32>)"
    text = f"func.func @f(%A: memref<?xi32>, %n: i32) {{ {fill} return }}"
    module = parse(text)
    lower_bulk(module)
    assert module.operation.verify()
    assert "memref.dim %arg0" in str(module)


def test_complete_unrolling_of_the_scheduled_gemm():
    text = (DATA / "gemm_f32.mlir").read_text()
    after = same_answers(text, "gemm", lower_bulk, unroll_loops)
    shown = str(after)
    assert "unroll" not in shown and 'loop_name = "j.inner"' not in shown
    main = shown[shown.index("j_init") :]
    assert len(re.findall(r"arith\.addf", main)) == 8
    assert "%arg4 * 8 + 7" in main


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 7, 9])
def test_partial_unrolling(factor):
    after = same_answers(
        function(
            f"""
            affine.for %i = 0 to 7 {{
              affine.for %j = 1 to 5 {{
                %a = affine.load %A[%i, %j] : memref<7x5xi32>
                %b = affine.load %B[%i, %j - 1] : memref<7x5xi32>
                %c = arith.addi %a, %b : i32
                affine.store %c, %B[%i, %j] : memref<7x5xi32>
              }} {{loop_name = "j"}}
            }} {{loop_name = "i", unroll = {factor} : i32}}"""
        ),
        "f",
        unroll_loops,
    )
    assert "unroll" not in str(after)
    assert ("affine.if" in str(after)) == (7 % factor != 0 and factor < 7)


def test_loops_inside_a_pipelined_loop_unroll_with_guards():
    after = same_answers(
        function(
            """
            affine.for %i = 0 to 7 {
              affine.for %j = 0 to min affine_map<(d) -> (3, -d + 5)>(%i) {
                affine.for %k = affine_map<(d) -> (d)>(%j) to affine_map<(d) -> (d + 2)>(%j) {
                  %a = affine.load %A[%i, %k] : memref<7x5xi32>
                  %x = arith.index_cast %k : index to i32
                  %c = arith.muli %a, %x : i32
                  affine.store %c, %B[%i, %j] : memref<7x5xi32>
                } {loop_name = "k"}
              } {loop_name = "j"}
            } {loop_name = "i", pipeline_ii = 1 : ui32}"""
        ),
        "f",
        unroll_loops,
    )
    assert str(after).count("affine.for") == 1
    assert str(after).count("affine.if") == 3


def test_guards_that_became_constant_are_folded():
    after = same_answers(
        function(
            """
            affine.for %i = 0 to 7 {
              affine.for %j = 0 to 3 {
                affine.for %k = affine_map<(d) -> (d)>(%j) to 4 {
                  %a = affine.load %A[%i, %k] : memref<7x5xi32>
                  %b = affine.load %B[%i, %j] : memref<7x5xi32>
                  %c = arith.addi %a, %b : i32
                  affine.store %c, %B[%i, %j] : memref<7x5xi32>
                } {loop_name = "k"}
              } {loop_name = "j"}
            } {loop_name = "i", pipeline_ii = 1 : ui32}"""
        ),
        "f",
        unroll_loops,
    )
    assert "affine.if" not in str(after)
    assert str(after).count("arith.addi") == 4 + 3 + 2


def test_loops_that_cannot_be_unrolled_are_reported():
    module = parse(
        """func.func @f(%A: memref<8xi32>, %n: index) {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          affine.for %i = 0 to 8 {
            scf.for %j = %zero to %n step %one {
              %a = memref.load %A[%j] : memref<8xi32>
            } {loop_name = "j"} loc("k.py":4:9)
            affine.for %k = 0 to %n {
              %a = affine.load %A[%k] : memref<8xi32>
            } {loop_name = "k"} loc("k.py":5:9)
          } {loop_name = "i", pipeline_ii = 1 : ui32}
          return }"""
    )
    skipped = unroll_loops(module)
    assert [(n.name, n.place.line, n.reason) for n in skipped] == [
        ("j", 4, "its bounds are known only when it runs"),
        ("k", 5, "its extent is unknown"),
    ]
    assert str(module).count("for %") == 3


def test_scalars_are_forwarded_and_dropped():
    after = same_answers(
        function(
            """
            %s = memref.alloc() {name = "s"} : memref<i32>
            affine.for %i = 0 to 7 {
              affine.store %n, %s[] : memref<i32>
              affine.for %j = 0 to 5 {
                %a = affine.load %A[%i, %j] : memref<7x5xi32>
                %x = affine.load %s[] : memref<i32>
                %y = arith.addi %a, %x : i32
                affine.store %y, %s[] : memref<i32>
              } {loop_name = "j", unroll = 0 : i32}
              %r = affine.load %s[] : memref<i32>
              affine.store %r, %B[%i, 0] : memref<7x5xi32>
            } {loop_name = "i"}"""
        ),
        "f",
        unroll_loops,
        forward_scalars,
    )
    assert "memref.alloc" not in str(after)


def test_scalars_stored_in_a_loop_or_branch_stay():
    after = same_answers(
        function(
            """
            %s = memref.alloc() {name = "s"} : memref<i32>
            affine.store %n, %s[] : memref<i32>
            affine.for %i = 0 to 7 {
              %x = affine.load %s[] : memref<i32>
              affine.if affine_set<(d) : (d - 3 >= 0)>(%i) {
                %z = affine.load %s[] : memref<i32>
                %y = arith.addi %z, %z : i32
                affine.store %y, %s[] : memref<i32>
              }
              %w = affine.load %s[] : memref<i32>
              affine.store %w, %B[%i, 1] : memref<7x5xi32>
              affine.store %x, %B[%i, 2] : memref<7x5xi32>
            } {loop_name = "i"}"""
        ),
        "f",
        forward_scalars,
    )
    assert str(after).count("affine.load") == 2


def test_the_whole_pipeline_on_calls():
    text = (DATA / "calls_i8.mlir").read_text()
    same_answers(text, "top", lower_bulk, unroll_loops, forward_scalars)
