"""Kernels that call C++ functions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from allo.backend.cpu import LLVMModule
from allo.dialects.diagnostics import BuildError, ToolFailedError, UnsupportedOpError

from .kernels import attributes, mlir

VADD = """
#include "scale.h"
void vadd(int a[4][2], float *b, double &x, short n, int c[4][2]) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      c[i][j] = SCALE * a[i][j] + (int)b[i] + (int)x + n;
}
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "scale.h").write_text("#define SCALE 3\n")
    (tmp_path / "vadd.cpp").write_text(VADD)
    return SimpleNamespace(
        top="vadd", impl=str(tmp_path / "vadd.cpp"), include_paths=[str(tmp_path / "inc")]
    )


def kernel(*declared: str) -> str:
    shapes = {"i32": "memref<4x2xi32>", "f32": "memref<4xf32>"}
    kinds = ", ".join(shapes.get(d, mlir(d)) for d in declared)
    names = [f"a{i}" for i in range(len(declared))]
    arguments = ", ".join(f"%{n}: {k}" for n, k in zip(names, kinds.split(", "), strict=True))
    operands = ", ".join(f"%{n}" for n in names)
    return f"""module {{
      func.func private @vadd({kinds}) attributes {{external, {attributes(names, declared, [])}}}
      func.func @top({arguments}) attributes {{{attributes(names, declared, [])}}} {{
        call @vadd({operands}) : ({kinds}) -> ()
        return
      }}
    }}"""


def run(module: LLVMModule) -> tuple[np.ndarray, np.ndarray]:
    a = np.arange(8, dtype=np.int32).reshape(4, 2)
    b = np.array([10, 20, 30, 40], np.float32)
    c = np.zeros((4, 2), np.int32)
    module(a, b, 100.0, -5, c)
    return c, a * 3 + b[:, None].astype(np.int32) + 95


def test_arrays_pointers_references_and_scalars(library: SimpleNamespace):
    module = LLVMModule(kernel("i32", "f32", "f64", "i16", "i32"), "top", [library])
    got, want = run(module)
    np.testing.assert_array_equal(got, want)


def test_a_changed_header_is_compiled_again(library: SimpleNamespace, tmp_path: Path):
    text = kernel("i32", "f32", "f64", "i16", "i32")
    np.testing.assert_array_equal(*run(LLVMModule(text, "top", [library])))
    assert len(list((tmp_path / "cache" / "external").iterdir())) == 1
    (tmp_path / "inc" / "scale.h").write_text("#define SCALE 7\n")
    got, want = run(LLVMModule(text, "top", [library]))
    np.testing.assert_array_equal(got, want + 4 * np.arange(8).reshape(4, 2))


def test_the_compiler_is_quoted(library: SimpleNamespace):
    Path(library.impl).write_text("void vadd(int a[4][2]) { undeclared(); }")
    with pytest.raises(ToolFailedError, match=r"Compiling .*vadd\.cpp by .* failed") as caught:
        LLVMModule(kernel("i32"), "top", [library])
    assert any("undeclared" in str(note) for note in caught.value.notes)


def test_the_number_of_arguments_is_checked(library: SimpleNamespace):
    with pytest.raises(ToolFailedError) as caught:
        LLVMModule(kernel("i32"), "top", [library])
    assert any("the kernel passes 1 arguments" in str(note) for note in caught.value.notes)


def test_a_missing_library_or_file_is_named(library: SimpleNamespace):
    with pytest.raises(BuildError, match="vadd is external, and no external library has it"):
        LLVMModule(kernel("i32"), "top")
    library.impl = "/nowhere/vadd.cpp"
    with pytest.raises(BuildError, match=r"/nowhere/vadd\.cpp does not exist"):
        LLVMModule(kernel("i32"), "top", [library])


def test_odd_widths_are_refused(library: SimpleNamespace):
    with pytest.raises(UnsupportedOpError, match="takes i7, which C\\+\\+ does not lay out"):
        LLVMModule(kernel("i7"), "top", [library])
