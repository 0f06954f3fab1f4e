"""The emitted text: labels, pragmas, names, comments."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from allo.target import BuildRequest, find_target

DATA = Path(__file__).parent.parent / "data"


def build(name: str, top: str, target: str = "vhls"):
    text = (DATA / f"{name}.mlir").read_text()
    return find_target(target)(BuildRequest(text, top, target))


def test_gemm_text_has_published_labels_and_pragmas():
    code = build("gemm_f32", "gemm").hls_code
    assert "void gemm(\n  float A[6][10],\n  float B[10][16],\n  float C[6][16]\n) {" in code
    assert "l_S_i_j_k_0_i: for (int i = 0; i < 6; i++) {" in code
    assert "#pragma HLS array_partition variable=B cyclic dim=2 factor=8" in code
    assert "l_j_outer: for (int j_outer = 0; j_outer < 2; j_outer++) {" in code
    assert "    #pragma HLS pipeline II=1\n" in code
    assert "        #pragma HLS unroll\n" in code
    assert "float v2 = v0 * v1;\t// gemm.py:5" in code
    assert code.index("/// This is top function.") < code.index("void gemm(")


def test_calls_text_declares_results_and_passes_them():
    code = build("calls_i8", "top").hls_code
    assert "int32_t C[4][4];" in code
    assert "mm(A, B, C);" in code
    assert "ap_uint<7> n," in code
    assert "ap_int<33> v8 = v6 + v7;\t// mm.py:5" in code
    assert "int32_t *v0\n" in code


def test_text_runs_by_gpp_and_equals_numpy():
    rng = np.random.default_rng(0)
    gemm = build("gemm_f32", "gemm")
    a = rng.standard_normal((6, 10), np.float32)
    b = rng.standard_normal((10, 16), np.float32)
    expected = np.zeros((6, 16), np.float32)
    for k in range(10):
        expected += a[:, k : k + 1] * b[k]
    np.testing.assert_array_equal(gemm(a, b), expected)
    out = np.zeros((6, 16), np.float32)
    assert gemm(a, b, out) is None
    np.testing.assert_array_equal(out, expected)


def test_calls_run_by_gpp_and_equal_numpy():
    rng = np.random.default_rng(1)
    module = build("calls_i8", "top")
    a = rng.integers(-128, 128, (4, 8), np.int8)
    b = rng.integers(-128, 128, (8, 4), np.int8)
    d = np.zeros((4, 4), np.int32)
    total = module(a, b, 100, d)
    expected = (a.astype(np.int32) @ b) * 100
    np.testing.assert_array_equal(d, expected)
    assert total == expected.sum()
