"""The engine that MLIR makes is handed to its Python bindings in a capsule."""

from __future__ import annotations

import ctypes

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
