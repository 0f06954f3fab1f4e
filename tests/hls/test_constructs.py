"""Loops, branches, index expressions, constants, state, calls: csim against the CPU build."""

from __future__ import annotations

import numpy as np
import pytest

from allo.dialects.boundary.storage import natural_dtype
from allo.dialects.types import parse_type

from .harness import build, function, module, same_as_cpu

RNG = np.random.default_rng(11)


def test_affine_maps_with_negative_operands():
    body = """
    affine.for %i = 0 to 20 {
      %a = affine.apply affine_map<(d0) -> ((d0 - 10) floordiv 3)>(%i)
      %b = affine.apply affine_map<(d0) -> ((d0 - 10) mod 3)>(%i)
      %c = affine.apply affine_map<(d0) -> ((d0 - 10) ceildiv 4)>(%i)
      %d = affine.apply affine_map<(d0) -> (d0 floordiv 4 + d0 mod 4 - d0 ceildiv 3)>(%i)
      %e = affine.min affine_map<(d0) -> (d0, 7, 13 - d0)>(%i)
      %f = affine.max affine_map<(d0) -> (d0 - 5, 2)>(%i)
      %ai = arith.index_cast %a : index to i32
      %bi = arith.index_cast %b : index to i32
      %ci = arith.index_cast %c : index to i32
      %di = arith.index_cast %d : index to i32
      %ei = arith.index_cast %e : index to i32
      %fi = arith.index_castui %f : index to i32
      affine.store %ai, %o[0, %i] : memref<6x20xi32>
      affine.store %bi, %o[1, %i] : memref<6x20xi32>
      affine.store %ci, %o[2, %i] : memref<6x20xi32>
      affine.store %di, %o[3, %i] : memref<6x20xi32>
      affine.store %ei, %o[4, (%i * 7 + 3) mod 20] : memref<6x20xi32>
      affine.store %fi, %o[5, -%i + 19] : memref<6x20xi32>
    } {loop_name = "i", op_name = "S_i_0"}
    return"""
    text = module(function("top", "%o: memref<6x20xi32>", body, ["i32"]))
    same_as_cpu(text, [RNG.integers(-99, 99, (6, 20), np.int32)])


def test_loop_bounds_and_affine_conditions():
    body = """
    affine.for %i = 0 to 12 {
      affine.for %j = max affine_map<(d0) -> (d0 - 3, 0)>(%i)
                   to min affine_map<(d0) -> (d0 + 4, 12)>(%i) step 2 {
        affine.if affine_set<(d0, d1) : (d0 - d1 >= 0, (d0 + d1) mod 3 == 0)>(%i, %j) {
          %v = affine.load %a[%i, %j] : memref<12x12xi16>
          %w = arith.addi %v, %v : i16
          affine.store %w, %a[%i, %j] : memref<12x12xi16>
        } else {
          %k = arith.constant 7 : i16
          affine.store %k, %a[%i, %j] : memref<12x12xi16>
        }
      } {loop_name = "j"}
    } {loop_name = "i", op_name = "S_i_j_0"}
    affine.for %i = 0 to %n {
      %v = affine.load %a[%i, symbol(%n)] : memref<12x12xi16>
      affine.store %v, %a[symbol(%n), %i] : memref<12x12xi16>
    } {loop_name = "i", op_name = "S_i_1"}
    return"""
    text = module(function("top", "%a: memref<12x12xi16>,%n: index", body, ["i16", "index"]))
    for n in (0, 1, 11):
        same_as_cpu(text, [RNG.integers(-30000, 30000, (12, 12), np.int16), n])
    code = build(text).hls_code
    assert "j = max(i - 3, 0); j < min(i + 4, 12); j += 2" in code
    assert "l_S_i_1_i1: for (int64_t i1 = 0; i1 < n; i1++)" in code


def test_while_and_data_dependent_loops():
    body = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %zero = arith.constant 0 : i32
    %x = memref.alloc() {name = "x"} : memref<i32>
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %a[%i] : memref<16xi32>
      affine.store %v, %x[] {to = "x"} : memref<i32>
      %steps = memref.alloc() {name = "steps"} : memref<i32>
      affine.store %zero, %steps[] : memref<i32>
      scf.while : () -> () {
        %u = affine.load %x[] : memref<i32>
        %more = arith.cmpi sgt, %u, %one : i32
        scf.condition(%more)
      } do {
        %u = affine.load %x[] : memref<i32>
        %bit = arith.andi %u, %one : i32
        %odd = arith.cmpi ne, %bit, %zero : i32
        scf.if %odd {
          %t = arith.muli %u, %three : i32
          %s = arith.addi %t, %one : i32
          affine.store %s, %x[] : memref<i32>
        } else {
          %h = arith.shrsi %u, %one : i32
          affine.store %h, %x[] : memref<i32>
        }
        %q = affine.load %steps[] : memref<i32>
        %r = arith.addi %q, %one : i32
        affine.store %r, %steps[] : memref<i32>
        scf.yield
      }
      %f = affine.load %steps[] : memref<i32>
      memref.store %f, %a[%i] : memref<16xi32>
    } {loop_name = "i", op_name = "S_i_0"}
    return"""
    text = module(function("top", "%a: memref<16xi32>,%n: index", body, ["i32", "index"]))
    same_as_cpu(text, [RNG.integers(1, 3000, 16).astype(np.int32), 13])
    code = build(text).hls_code
    assert "while (true) {" in code
    assert "if (!(v2)) break;" in code


def test_constants_of_every_kind():
    parts = [
        'memref.global "private" constant @w : memref<2x3xi7> = dense<[[1, -2, 3], [-64, 63, 0]]>',
        'memref.global "private" constant @wide : memref<2xi100> = '
        "dense<[-633825300114114700748351602687, 5]>",
        'memref.global "private" constant @f : memref<3xf32> = dense<[1.1, -0.0, 3.0e38]>',
        'memref.global "private" constant @h : memref<2xf16> = dense<[1.5, -2.25]>',
        'memref.global "private" constant @bf : memref<2xbf16> = dense<[1.5, -2.25]>',
        'memref.global "private" constant @splat : memref<4xi33> = dense<-5>',
        'memref.global "private" constant @flags : memref<3xi1> = dense<[true, false, true]>',
    ]
    big = ", ".join(str(v) for v in RNG.integers(-1000, 1000, 200))
    parts.append(f'memref.global "private" constant @big : memref<200xi12> = dense<[{big}]>')
    kinds = {
        "w": ("2x3xi7", "i7"),
        "wide": ("2xi100", "i100"),
        "f": ("3xf32", "f32"),
        "h": ("2xf16", "f16"),
        "bf": ("2xbf16", "bf16"),
        "splat": ("4xi33", "i33"),
        "flags": ("3xi1", "ui1"),
        "big": ("200xi12", "i12"),
    }
    body = ""
    for name, (shape, _) in kinds.items():
        body += f"%{name} = memref.get_global @{name} : memref<{shape}>\n"
        body += f"memref.copy %{name}, %o_{name} : memref<{shape}> to memref<{shape}>\n"
    params = ",".join(f"%o_{n}: memref<{s}>" for n, (s, _) in kinds.items())
    text = module(*parts, function("top", params, body + "return", [t for _, t in kinds.values()]))
    shapes = [tuple(int(d) for d in s.split("x")[:-1]) for s, _ in kinds.values()]
    args = [np.zeros(s, natural_dtype(parse_type(t))) for s, (_, t) in zip(shapes, kinds.values())]
    same_as_cpu(text, args)


STATE = """
  memref.global "private" @__stateful_acc_total_1 : memref<i32> = dense<5>
  memref.global "private" @__stateful_acc_last_2 : memref<3xi8> = dense<[1, 2, 3]>
"""


def test_state_is_kept_between_calls_and_fresh_in_every_build():
    body = """
    %t = memref.get_global @__stateful_acc_total_1 : memref<i32>
    %l = memref.get_global @__stateful_acc_last_2 : memref<3xi8>
    %v = affine.load %t[] : memref<i32>
    %s = arith.addi %v, %x : i32
    affine.store %s, %t[] : memref<i32>
    %n = arith.trunci %x : i32 to i8
    %p = affine.load %l[0] : memref<3xi8>
    affine.store %p, %l[1] : memref<3xi8>
    affine.store %n, %l[0] : memref<3xi8>
    %q = affine.load %l[1] : memref<3xi8>
    %w = arith.extsi %q : i8 to i32
    %r = arith.addi %s, %w : i32
    return %r : i32"""
    text = module(STATE, function("top", "%x: i32", body, ["i32"], "-> i32", ["i32"]))
    csim, cpu = build(text), build(text, "llvm")
    for value in (3, -4, 100, 2**31 - 1, 7):
        assert csim(value) == cpu(value)
    fresh = build(text)
    assert fresh(0) == 5 + 1
    assert "static int32_t stateful_acc_total_1 = 5;" in csim.hls_code


def test_one_state_in_two_functions_is_shared():
    body = """
    %t = memref.get_global @__stateful_acc_total_1 : memref<i32>
    %v = affine.load %t[] : memref<i32>
    %s = arith.addi %v, %x : i32
    affine.store %s, %t[] : memref<i32>
    return %s : i32"""
    double = body.replace("%s = arith.addi %v, %x", "%s = arith.muli %v, %x")
    top = """
    %a = call @add(%x) : (i32) -> i32
    %b = call @times(%a) : (i32) -> i32
    return %b : i32"""
    parts = [
        function("add", "%x: i32", body, ["i32"], "-> i32", ["i32"]),
        function("times", "%x: i32", double, ["i32"], "-> i32", ["i32"]),
        function("top", "%x: i32", top, ["i32"], "-> i32", ["i32"]),
    ]
    text = module(STATE, *parts)
    csim, cpu = build(text), build(text, "llvm")
    for value in (3, -4, 10):
        assert csim(value) == cpu(value)


def test_results_of_every_shape():
    body = """
    %r = memref.alloc() {name = "r", unsigned} : memref<4xi8>
    %q = memref.alloc() {name = "q"} : memref<2x2xf64>
    %c = arith.constant 2.5 : f64
    linalg.fill ins(%c : f64) outs(%q : memref<2x2xf64>)
    memref.copy %a, %r : memref<4xi8> to memref<4xi8>
    return %r, %a, %q : memref<4xi8>, memref<4xi8>, memref<2x2xf64>"""
    result = "-> (memref<4xi8>, memref<4xi8>, memref<2x2xf64>)"
    types = ["ui8", "ui8", "f64"]
    text = module(function("top", "%a: memref<4xi8>", body, ["ui8"], result, types))
    same_as_cpu(text, [np.array([0, 1, 200, 255], np.uint8)])


def test_calls_in_loops_pass_scalars_and_arrays():
    inner = """
    %s = memref.alloc() {name = "s"} : memref<i16>
    %z = arith.constant 0 : i16
    affine.store %z, %s[] : memref<i16>
    affine.for %i = 0 to 4 {
      %v = affine.load %a[%i] : memref<4xi7>
      %e = arith.extsi %v : i7 to i16
      %o = affine.load %s[] : memref<i16>
      %n = arith.addi %o, %e : i16
      affine.store %n, %s[] : memref<i16>
    } {loop_name = "i", op_name = "S_i_0"}
    %r = affine.load %s[] : memref<i16>
    %t = arith.muli %r, %k : i16
    return %t : i16"""
    row = """
    %b = memref.alloc() {name = "b"} : memref<4xi7>
    affine.for %i = 0 to 4 {
      %v = affine.load %a[%j, %i] : memref<3x4xi7>
      affine.store %v, %b[-%i + 3] : memref<4xi7>
    } {loop_name = "i", op_name = "S_i_0"}
    return %b : memref<4xi7>"""
    top = """
    affine.for %j = 0 to 3 {
      %r = func.call @row(%a, %j) {name = "r"} : (memref<3x4xi7>, index) -> memref<4xi7>
      %x = arith.index_cast %j : index to i16
      %s = func.call @inner(%r, %x) : (memref<4xi7>, i16) -> i16
      affine.store %s, %o[%j] : memref<3xi16>
    } {loop_name = "j", op_name = "S_j_0"}
    return"""
    text = module(
        function("inner", "%a: memref<4xi7>,%k: i16", inner, ["i7", "i16"], "-> i16", ["i16"]),
        function(
            "row", "%a: memref<3x4xi7>,%j: index", row, ["i7", "index"], "-> memref<4xi7>", ["i7"]
        ),
        function("top", "%a: memref<3x4xi7>,%o: memref<3xi16>", top, ["i7", "i16"]),
    )
    for target in ("vhls", "vitis_hls"):
        args = [RNG.integers(-64, 64, (3, 4), np.int8), np.zeros(3, np.int16)]
        same_as_cpu(text, args, target=target)


def test_user_names_that_cpp_reserves():
    body = """
    %int = memref.alloc() {name = "double"} : memref<4xi32>
    %v7 = memref.alloc() {name = "v0"} : memref<4xi32>
    memref.copy %new, %int : memref<4xi32> to memref<4xi32>
    memref.copy %int, %v7 : memref<4xi32> to memref<4xi32>
    affine.for %i = 0 to 4 {
      %a = affine.load %v7[%i] : memref<4xi32>
      %b = arith.addi %a, %a : i32
      affine.store %b, %min[%i] : memref<4xi32>
    } {loop_name = "for.inner", op_name = "S_while"}
    return"""
    text = module(function("top", "%new: memref<4xi32>,%min: memref<4xi32>", body, ["i32", "i32"]))
    args = [RNG.integers(-(2**31), 2**31, 4).astype(np.int32) for _ in range(2)]
    for target in ("vhls", "vitis_hls"):
        same_as_cpu(text, args, target=target)


EXACT = "exp exp2 log log2 log10 sin cos tan tanh erf rsqrt sqrt powf".split()
LIBRARY = "sinh cosh atan asin acos cbrt atan2".split()


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_math_functions_have_the_bits_of_the_cpu_build(kind):
    count = 500
    names = EXACT if kind == "bf16" else EXACT + LIBRARY
    dtype = natural_dtype(parse_type(kind))
    body = f"affine.for %i = 0 to {count} {{\n"
    body += f"%v = affine.load %x[%i] : memref<{count}x{kind}>\n"
    body += f"%w = affine.load %y[%i] : memref<{count}x{kind}>\n"
    for k, name in enumerate(names):
        operands = "%v, %w" if name in ("powf", "atan2") else "%v"
        body += f"%r{k} = math.{name} {operands} : {kind}\n"
        body += f"affine.store %r{k}, %o[{k}, %i] : memref<{len(names)}x{count}x{kind}>\n"
    body += '} {loop_name = "i"}\nreturn'
    arrays = f"%x: memref<{count}x{kind}>,%y: memref<{count}x{kind}>"
    text = module(
        function("top", f"{arrays},%o: memref<{len(names)}x{count}x{kind}>", body, [kind] * 3)
    )
    x = np.frombuffer(RNG.bytes(dtype.itemsize * count), dtype).copy()
    x[::2] = (RNG.standard_normal(count // 2) * 3).astype(dtype)
    y = (RNG.standard_normal(count) * 3).astype(dtype)
    got, expected = (np.zeros((len(names), count), dtype) for _ in range(2))
    build(text)(x, y, got)
    build(text, "llvm")(x, y, expected)
    nan = np.isnan(got) & np.isnan(expected)
    raw = f"u{dtype.itemsize}"
    for k, name in enumerate(names):
        same = (got[k].view(raw) == expected[k].view(raw)) | nan[k]
        assert same.all(), (name, x[np.argmin(same)], got[k][np.argmin(same)])


def test_a_changed_expansion_is_compiled_again(monkeypatch):
    body = """
    %v = affine.load %x[0] : memref<1xf32>
    %r = math.exp %v : f32
    affine.store %r, %x[0] : memref<1xf32>
    return"""
    text = module(function("top", "%x: memref<1xf32>", body, ["f32"]))
    x = np.zeros(1, np.float32)
    build(text)(x)
    assert x[0] == 1
    changed = "void allo_math_exp(float x, float *r) { *r = 7; }"
    monkeypatch.setattr("allo.backend.hls.csim.exact_math.exact_math_text", lambda op: changed)
    build(text)(x)
    assert x[0] == 7


def test_double_math_functions_are_close_to_numpy():
    names = "exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sinh cosh".split()
    body = "affine.for %i = 0 to 64 {\n%v = affine.load %x[%i] : memref<64xf64>\n"
    for k, name in enumerate(names):
        body += f"%r{k} = math.{name} %v : f64\n"
        body += f"affine.store %r{k}, %o[{k}, %i] : memref<{len(names)}x64xf64>\n"
    body += '} {loop_name = "i"}\nreturn'
    params = f"%x: memref<64xf64>,%o: memref<{len(names)}x64xf64>"
    x, out = RNG.uniform(0.01, 3, 64), np.zeros((len(names), 64))
    build(module(function("top", params, body, ["f64", "f64"])))(x, out)
    for k, name in enumerate(names):
        np.testing.assert_allclose(out[k], getattr(np, name)(x), rtol=1e-13, err_msg=name)


def test_memory_binding():
    body = """
    %b = memref.alloc() {name = "buf"} : memref<4xi32, 18>
    %u = memref.alloc() {name = "u"} : memref<4xi32, 32>
    affine.for %i = 0 to 4 {
      %v = affine.load %a[%i] : memref<4xi32, 48>
      affine.store %v, %b[%i] : memref<4xi32, 18>
      affine.store %v, %u[%i] : memref<4xi32, 32>
    } {loop_name = "i", pipeline_ii = 2 : ui32, rewind, unroll = 4 : i32, dataflow}
    return"""
    text = module(function("top", "%a: memref<4xi32, 48>", body, ["i32"]))
    lines = [line.strip() for line in build(text).hls_code.splitlines() if "#pragma" in line]
    assert lines == [
        "#pragma HLS bind_storage variable=a impl=lutram",
        "#pragma HLS bind_storage variable=buf type=ram_2p impl=bram",
        "#pragma HLS bind_storage variable=u impl=uram",
        "#pragma HLS pipeline II=2 rewind",
        "#pragma HLS unroll factor=4",
        "#pragma HLS dataflow",
    ]
