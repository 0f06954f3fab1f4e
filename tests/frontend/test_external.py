"""External C++ called from kernels and directly."""

import re

import numpy as np
import pytest

import allo
from allo.errors import BoundaryError, BuildError, FrontendError
from allo.ir.types import float32, int32

SOURCE = """
#include <stdint.h>
// void vadd(nothing)
extern "C" void vadd(const int32_t a[8], int b[8], int *c, int32_t n) {
  for (int i = 0; i < 8; i++) c[i] = a[i] + b[i] * n;
}
"""


@pytest.fixture
def vadd(tmp_path):
    path = tmp_path / "vadd.cpp"
    path.write_text(SOURCE)
    return allo.IPModule(top="vadd", impl=str(path), link_hls=False)


def test_called_from_a_kernel(vadd):
    def kernel(A: int32[8], B: int32[8]) -> int32[8]:
        C: int32[8] = 0
        vadd(A, B, C, 3)
        for i in range(8):
            C[i] += 1
        return C

    s = allo.customize(kernel)
    assert "func.func private @vadd(memref<8xi32>, memref<8xi32>, memref<?xi32>, i32)" in str(
        s.module
    )
    assert s.ext_libs == [vadd]
    a, b = (np.arange(8, dtype=np.int32) * k for k in (1, 10))
    np.testing.assert_array_equal(s.build()(a, b), a + b * 3 + 1)


def test_called_directly(vadd):
    a, b = (np.arange(8, dtype=np.int32) * k for k in (1, 10))
    c = np.zeros(8, np.int32)
    vadd(a, b, c, 2)
    np.testing.assert_array_equal(c, a + b * 2)
    with pytest.raises(BoundaryError, match="vadd takes 4 arguments, not 1"):
        vadd(a)


def test_types_of_arguments_must_be_equal(vadd):
    def kernel(A: float32[8], B: int32[8]):
        vadd(A, B, B, 1)

    with pytest.raises(FrontendError, match=re.escape("Argument 1 of vadd (a) is f32[8]")):
        allo.customize(kernel)


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="Consider using an absolute path"):
        allo.IPModule("f", str(tmp_path / "none.cpp"))
    path = tmp_path / "f.cpp"
    path.write_text("int f(int a) { return a; }\nvoid g(std::vector<int> v) {}\n")
    with pytest.raises(BuildError, match=r"has no function `void f\(...\)`"):
        allo.IPModule("f", str(path))
    with pytest.raises(BuildError, match=r"The parameter `std::vector<int> v` of g"):
        allo.IPModule("g", str(path))
