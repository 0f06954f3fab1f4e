"""Kernels may have any name: one that means something to C++ is given another in the text."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.hls.text.writer import function_identifier
from allo.ir.types import int5, int32

# Types and objects of the standard library, overloads of its functions, keywords and C functions.
NAMES = """
array complex exit exp function hash less list log map min new pair plus queue read set signal sort
stack string switch template time tuple valarray vector y0
""".split()


def program() -> str:
    """A kernel ``top`` that adds what a function of every name gives."""
    functions = [
        f"def {name}(A: int32[4]) -> int32:\n    return A[{k % 4}] + {k}\n"
        for k, name in enumerate(NAMES)
    ]
    calls = " + ".join(f"{name}(A)" for name in NAMES)
    return "\n".join([*functions, f"def top(A: int32[4]) -> int32:\n    return {calls}\n"])


def test_functions_named_like_the_standard_library_run_by_csim(tmp_path, monkeypatch) -> None:
    (tmp_path / "named.py").write_text(f"from allo.ir.types import int32\n\n{program()}")
    monkeypatch.syspath_prepend(tmp_path)
    import named  # type: ignore[import-not-found]

    A = np.array([5, -7, 11, 13], np.int32)
    built = allo.customize(named.top).build(target="vhls")
    assert built(A) == sum(A[k % 4] + k for k in range(len(NAMES)))


@pytest.mark.parametrize("name", ["vector", "min", "uint"])
def test_a_top_named_like_the_standard_library_runs_by_csim(name: str) -> None:
    text = f"def {name}(A: int32[4]) -> int32:\n    return A[1] + 2\n"
    built = allo.customize(text, global_vars={"int32": int32}).build(target="vhls")
    assert f"void {name}_(" in built.hls_code
    assert built(np.arange(4, dtype=np.int32)) == 3


@pytest.mark.parametrize("name", ["arguments", "p0"])
def test_a_top_named_like_a_variable_of_the_entry_runs_by_csim(name: str) -> None:
    text = f"def {name}(A: int5[4], k: int5) -> int32:\n    return A[1] + k\n"
    given = {"int5": int5, "int32": int32}
    built = allo.customize(text, global_vars=given).build(target="vhls")
    assert built(np.arange(4, dtype=np.int8), 2) == 3


def test_other_names_stay() -> None:
    assert [function_identifier(name) for name in ("gemm", "top", "vectors")] == [
        "gemm",
        "top",
        "vectors",
    ]
