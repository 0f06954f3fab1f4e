"""Kernels that call the user's own C++."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from allo.errors import BuildError

from .harness import build, function, module

VADD = """
#include "scale.h"
void vadd(int a[4][2], float *b, short x, int c[4][2]) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j) c[i][j] = SCALE * a[i][j] + (int)b[i] + x;
}
"""
KINDS = "memref<4x2xi32>, memref<4xf32>, i16, memref<4x2xi32>"
TEXT = module(
    f"func.func private @vadd({KINDS}) attributes {{external, "
    'arg_names = ["a", "b", "x", "c"], arg_types = ["i32", "f32", "i16", "i32"], res_types = [], '
    'itypes = "s_ss", otypes = ""}',
    function(
        "top",
        "%a: memref<4x2xi32>,%b: memref<4xf32>,%x: i16,%c: memref<4x2xi32>",
        f"call @vadd(%a, %b, %x, %c) : ({KINDS}) -> ()\nreturn",
        ["i32", "f32", "i16", "i32"],
    ),
)


@pytest.fixture
def library(tmp_path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "scale.h").write_text("#define SCALE 3\n")
    (tmp_path / "vadd.cpp").write_text(VADD)
    return SimpleNamespace(
        top="vadd", impl=str(tmp_path / "vadd.cpp"), include_paths=[str(tmp_path / "inc")]
    )


def run(library, target: str, scale: int) -> None:
    a = np.arange(8, dtype=np.int32).reshape(4, 2)
    b = np.array([10, 20, 30, 40], np.float32)
    c = np.zeros((4, 2), np.int32)
    build(TEXT, target, ext_libs=(library,))(a, b, -5, c)
    np.testing.assert_array_equal(c, a * scale + b[:, None].astype(np.int32) - 5)


@pytest.mark.parametrize("target", ["vhls", "vitis_hls"])
def test_external_functions_are_included_and_called(library, target):
    run(library, target, 3)
    code = build(TEXT, target, ext_libs=(library,)).hls_code
    assert '#include <stdint.h>\n#include "vadd.cpp"\n' in code
    assert "vadd(" in code and "void vadd(" not in code


def test_a_changed_header_is_compiled_again(library, tmp_path):
    run(library, "vhls", 3)
    (tmp_path / "inc" / "scale.h").write_text("#define SCALE 7\n")
    run(library, "vhls", 7)


def test_projects_have_a_copy(library, tmp_path):
    project = tmp_path / "p"
    build(TEXT, "vivado_hls", mode="csim", project=str(project), ext_libs=(library,))
    assert (project / "vadd.cpp").read_text() == VADD
    assert "add_files kernel.cpp\nadd_files vadd.cpp\n" in (project / "run.tcl").read_text()


def test_an_external_function_without_its_file(library):
    with pytest.raises(BuildError) as caught:
        build(TEXT)
    assert caught.value.message == "Function vadd is external, and no external library has it."
    gone = SimpleNamespace(top="vadd", impl="/nowhere/vadd.cpp")
    with pytest.raises(BuildError) as caught:
        build(TEXT, ext_libs=(gone,))
    assert str(caught.value) == "The external C++ file /nowhere/vadd.cpp does not exist."


def test_a_file_named_like_the_kernel(library, tmp_path):
    (tmp_path / "kernel.cpp").write_text(VADD)
    clash = SimpleNamespace(**{**vars(library), "impl": str(tmp_path / "kernel.cpp")})
    with pytest.raises(AssertionError, match="cannot be named kernel.cpp: the project has its own"):
        build(TEXT, "vitis_hls", mode="csim", project=str(tmp_path / "p"), ext_libs=(clash,))
    assert not (tmp_path / "p").exists()
