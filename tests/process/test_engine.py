"""The engine that MLIR makes: its capsule, and the instructions of its code."""

from __future__ import annotations

import ctypes

import pytest

from allo.dialects._mlir import c_interface, ir, make_llvm_context
from allo.dialects.processes import engine, instructions
from allo.dialects.processes.engine import capsule_of

NAME = b"torch_mlir.execution_engine.ExecutionEngine._CAPIPtr"


def test_the_name_of_a_capsule_outlives_other_allocations() -> None:
    """Other threads allocate between the making of a capsule and its use."""
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    capsules = [capsule_of(8 * (k + 1)) for k in range(100)]
    others = [bytes([k % 256]) * len(NAME) for k in range(100_000)]
    assert [name_of(capsule) for capsule in capsules] == [NAME] * 100
    assert len(set(others)) == 256


THIRD = frozenset(
    "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 abm avx avx2 bmi1 bmi2 f16c fma movbe".split()
)
FOURTH = THIRD | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
SHUFFLE = """
llvm.func @f(%p: !llvm.ptr) {
  %zero = llvm.mlir.constant(dense<0> : vector<16xi8>) : vector<16xi8>
  %a = llvm.load %p : !llvm.ptr -> vector<16xi8>
  %b = llvm.add %a, %a : vector<16xi8>
  %c = llvm.shufflevector %b, %zero [1, 2, 16, 16, 16, 16, 16, 16,
    -1, -1, -1, -1, -1, -1, -1, -1] : vector<16xi8>
  %d = llvm.add %c, %c : vector<16xi8>
  llvm.store %d, %p : vector<16xi8>, !llvm.ptr
  llvm.return
}
"""
EXTRACT = b"\x66\x0f\x78"
"""An instruction of SSE4a that LLVM makes of this shuffle."""


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        (THIRD, None),
        (THIRD | {"sse4a"}, "x86-64-v3"),
        (FOURTH | {"sse4a"}, "x86-64-v4"),
        (FOURTH - {"avx512vl"} | {"sse4a"}, "x86-64-v3"),
        (THIRD - {"bmi2"} | {"sse4a"}, None),
    ],
    ids=["no sse4a", "avx2", "avx512", "a part of avx512", "less than avx2"],
)
def test_a_level_has_no_instruction_that_the_processor_lacks(flags, level: str | None) -> None:
    assert instructions.level_of(frozenset(flags)) == level


def _code_of_a_shuffle() -> bytes:
    module = ir.Module.parse(SHUFFLE, make_llvm_context())
    made = engine.Engine(module, 2)
    made.lookup("f")
    library = ctypes.CDLL(str(c_interface()))
    find = library.mlirExecutionEngineLookup
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, engine._Text]
    return ctypes.string_at(find(made._pointer, engine._Text(b"f", 1)), 64).split(b"\xc3")[0]


def test_code_for_avx_has_no_instruction_of_sse4a(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the processor has both, LLVM's own choice is the planted fault."""
    assert EXTRACT not in _code_of_a_shuffle()
    if instructions.level_of(instructions._flags()):
        monkeypatch.setattr(engine, "choose_instructions", lambda module: None)
        assert EXTRACT in _code_of_a_shuffle()
