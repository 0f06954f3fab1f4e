"""Unrolling: the same answers, the promised shape."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from allo.dialects._mlir import ir, make_context
from allo.dialects.affine.loops import enclosing_loops, is_affine_loop, walk
from allo.dialects.passes.unroll import fold_conditions, unroll_completely
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


def unroll_pipelined(module: ir.Module) -> None:
    """Unroll the loops inside pipelined ones, the innermost first."""
    with module.context, ir.Location.unknown():
        for op in list(walk(module.operation))[::-1]:
            if is_affine_loop(op) and any(
                "pipeline_ii" in a.attributes for a in enclosing_loops(op)
            ):
                assert unroll_completely(op)
        fold_conditions(module.operation)


def test_complete_unrolling_of_the_scheduled_gemm():
    text = (DATA / "gemm_f32.mlir").read_text()
    after = same_answers(text, "gemm", unroll_pipelined)
    shown = str(after)
    assert "unroll" not in shown and 'loop_name = "j.inner"' not in shown
    main = shown[shown.index("j_init") :]
    assert len(re.findall(r"arith\.addf", main)) == 8
    assert "%arg4 * 8 + 7" in main


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
        unroll_pipelined,
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
        unroll_pipelined,
    )
    assert "affine.if" not in str(after)
    assert str(after).count("arith.addi") == 4 + 3 + 2


def test_a_loop_whose_extent_is_unknown_stays():
    module = parse(
        """func.func @f(%A: memref<8xi32>, %n: index) {
          affine.for %k = 0 to %n {
            %a = affine.load %A[%k] : memref<8xi32>
          } {loop_name = "k"}
          return }"""
    )
    before = str(module)
    with module.context, ir.Location.unknown():
        assert not any(unroll_completely(op) for op in walk(module.operation) if is_affine_loop(op))
    assert str(module) == before
