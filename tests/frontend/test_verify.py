"""The verifier of the core IR: what the frontend makes is legal; each broken rule is named."""

import pathlib
import re

import pytest

import allo
from allo.dialects._mlir import ir, make_context
from allo.dialects.verify import VerificationError, problems, verify
from allo.frontend import build_module
from allo.ir.types import int8, int32

DATA = pathlib.Path(__file__).parent.parent / "data"


def parsed(text):
    return ir.Module.parse(text, make_context())


def gemm(A: int8[4, 8], B: int8[8, 4], n: int32) -> int32[4, 4]:
    C: int32[4, 4] = 0
    s: int32 = 0
    while s < n:
        s += 1
    for i, j in allo.grid(4, 4):
        for k in allo.reduction(8):
            if k < n:
                C[i, j] += A[i, k] * B[k, j]
    return C


def test_what_the_frontend_makes_is_legal():
    made = build_module(gemm)
    verify(made.module, top="gemm", places=True)
    assert list(problems(made.module, top="gemm", places=True)) == []


@pytest.mark.parametrize("name", ["calls_i8.mlir", "gemm_f32.mlir"])
def test_the_examples_are_legal(name):
    module = parsed((DATA / name).read_text())
    verify(module)
    assert list(problems(module)) == []


BROKEN = [
    ('affine.for %i = 0 to 4 { } {op_name = "S"}', "affine.for has no attribute 'loop_name'."),
    (
        'affine.for %i = 0 to 4 { } {loop_name = "i"}',
        "the outermost affine.for of a nest has no op_name.",
    ),
    ("%x = memref.alloc() : memref<4xi32>", "memref.alloc has no attribute 'name'."),
    ("%y = affine.load %A[0] : memref<4xi32>", "affine.load has no attribute 'from'."),
    ("affine.store %c, %A[0] : memref<4xi32>", "affine.store has no attribute 'to'."),
    (
        "%y = scf.if %t -> i32 { scf.yield %c : i32 } else { scf.yield %c : i32 }",
        "scf.if has results; they belong in memory.",
    ),
    ("%v = vector.broadcast %c : i32 to vector<4xi32>", "vector.broadcast is not legal"),
    ("func.call @f(%A) : (memref<4xi32>) -> ()", "it calls f, which does not stand before it."),
]


def module_with(body):
    return parsed(
        "func.func @f(%A: memref<4xi32>) attributes "
        '{arg_names = ["A"], arg_types = ["i32"], itypes = "s", otypes = "", res_types = []} {\n'
        "%c = arith.constant 1 : i32\n%t = arith.constant true\n"
        f"{body}\nreturn }}"
    )


@pytest.mark.parametrize(("body", "sentence"), BROKEN)
def test_a_broken_rule_is_named(body, sentence):
    with pytest.raises(VerificationError, match=re.escape(f"In f: {sentence}")):
        verify(module_with(body))


def test_bulk_operations_are_gone_once_lowered():
    text = "linalg.fill ins(%c : i32) outs(%A : memref<4xi32>)"
    verify(module_with(text))
    with pytest.raises(VerificationError, match="linalg.fill is not legal at stage lowered"):
        verify(module_with(text), stage="lowered")


def test_function_attributes_are_complete():
    with pytest.raises(VerificationError, match="f has no attribute arg_names"):
        verify(parsed("func.func @f(%x: f32) { return }"))
    with pytest.raises(VerificationError, match="attribute itypes has 2 entries for 1 values"):
        verify(
            parsed(
                'func.func @f(%x: f32) attributes {arg_names = ["x"], arg_types = ["f32"], '
                'itypes = "__", otypes = "", res_types = []} { return }'
            )
        )


def test_the_top_function_must_exist():
    with pytest.raises(VerificationError, match="The module has no function 'g'."):
        verify(module_with(""), top="g")
