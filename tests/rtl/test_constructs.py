"""One construct a test, hardware against the CPU build; and what is refused, with its line."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.rtl import compile_design
from allo.dialects.diagnostics import BuildError, UnsupportedOpError
from allo.ir.types import float64, int32

from .differential import compare, function

pytestmark = pytest.mark.filterwarnings("ignore")


def elementwise(operation: str, source: str, target: str, *, declared: str = "") -> str:
    """out[i] = operation(in[i]) over 24 elements; ``declared`` is the declared input type."""
    body = f"""
    affine.for %i = 0 to 24 {{
      %x = affine.load %a[%i] : memref<24x{source}>
      {operation}
      affine.store %y, %b[%i] : memref<24x{target}>
    }} {{loop_name = "i", pipeline_ii = 1 : ui32}}
    return"""
    return function(
        body,
        {
            "a": (f"memref<24x{source}>", declared or source),
            "b": (f"memref<24x{target}>", target),
        },
    )


CONVERSIONS = [
    ("arith.sitofp", "i7", "f32"),
    ("arith.sitofp", "i64", "f32"),
    ("arith.uitofp", "i33", "f64"),
    ("arith.extf", "f32", "f64"),
    ("arith.truncf", "f64", "f32"),
    ("arith.bitcast", "f32", "i32"),
]


@pytest.mark.parametrize(("operation", "source", "target"), CONVERSIONS)
def test_conversions(operation: str, source: str, target: str):
    compare(elementwise(f"%y = {operation} %x : {source} to {target}", source, target), "f")


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_float_to_integer(kind: str):
    text = elementwise(
        f"""%c = arith.constant 1.0e-8 : {kind}
        %s = arith.mulf %x, %c : {kind}
        %y = arith.fptosi %s : {kind} to i40""",
        kind,
        "i40",
    )
    compare(text, "f")


@pytest.mark.parametrize("operation", ["divf", "maximumf", "minimumf"])
def test_float_operations(operation: str):
    text = elementwise(f"%y = arith.{operation} %x, %x : f32", "f32", "f32")
    compare(text, "f")


@pytest.mark.parametrize("width", [1, 5, 31, 64])
@pytest.mark.parametrize("operation", ["divui", "remsi", "shrsi", "maxui"])
def test_operations_of_any_width(operation: str, width: int):
    kind = f"i{width}"
    one = "true" if width == 1 else f"1 : {kind}"
    if operation in ("divui", "remsi"):
        guard = f"%d = arith.ori %x, %one : {kind}"
    else:
        guard = f"%d = arith.xori %one, %one : {kind}"
    text = elementwise(
        f"%one = arith.constant {one}\n{guard}\n%y = arith.{operation} %one, %d : {kind}",
        kind,
        kind,
    )
    compare(text, "f")


def test_constant_table():
    table = ", ".join(str(n * 7 % 50 - 25) for n in range(20))
    text = f"""module {{
    memref.global "private" constant @weights : memref<20xi11> = dense<[{table}]>
    func.func @f(%a: memref<20xi11>, %n: index) attributes {{arg_names = ["a", "n"],
        arg_types = ["i11", "index"], itypes = "s_", otypes = "", res_types = []}} {{
      %w = memref.get_global @weights : memref<20xi11>
      affine.for %i = 0 to 20 {{
        %x = affine.load %w[%i] : memref<20xi11>
        affine.store %x, %a[19 - %i] : memref<20xi11>
      }} {{loop_name = "i", pipeline_ii = 1 : ui32}}
      %y = memref.load %w[%n] : memref<20xi11>
      affine.store %y, %a[0] : memref<20xi11>
      return
    }}
    }}"""
    compare(text, "f")


def test_one_callee_on_several_arrays():
    body = """
    %p = memref.alloc() {name = "p"} : memref<6xi32>
    %q = memref.alloc() {name = "q"} : memref<6xi32>
    %x = func.call @scale(%a, %p, %s) : (memref<6xi32>, memref<6xi32>, i32) -> i32
    %y = func.call @scale(%p, %q, %x) : (memref<6xi32>, memref<6xi32>, i32) -> i32
    affine.for %t = 0 to 3 {
      %z = func.call @scale(%q, %b, %y) : (memref<6xi32>, memref<6xi32>, i32) -> i32
      affine.store %z, %b[%t] : memref<6xi32>
    } {loop_name = "t"}
    return %y : i32"""
    kinds = {"a": ("memref<6xi32>", "i32"), "b": ("memref<6xi32>", "i32"), "s": ("i32", "i32")}
    text = function(body, kinds, ("i32", "i32")).replace(
        "module {",
        """module {
    func.func @scale(%u: memref<6xi32>, %v: memref<6xi32>, %k: i32) -> i32 attributes {
        arg_names = ["u", "v", "k"], arg_types = ["i32", "i32", "i32"], itypes = "sss",
        otypes = "s", res_types = ["i32"]} {
      %sum = memref.alloc() {name = "sum"} : memref<i32>
      %zero = arith.constant 0 : i32
      affine.store %zero, %sum[] : memref<i32>
      affine.for %i = 0 to 6 {
        %x = affine.load %u[%i] : memref<6xi32>
        %y = arith.muli %x, %k : i32
        affine.store %y, %v[5 - %i] : memref<6xi32>
        %s = affine.load %sum[] : memref<i32>
        %n = arith.addi %s, %y : i32
        affine.store %n, %sum[] : memref<i32>
      } {loop_name = "i", pipeline_ii = 1 : ui32}
      %r = affine.load %sum[] : memref<i32>
      return %r : i32
    }""",
        1,
    )
    module = compare(text, "f")
    assert module.report.functions[-1].instances == {"scale": 1}


def test_two_regions_share_one_multiplier():
    loop = """
    affine.for %i = 0 to 8 {
      %x = affine.load %a[%i] : memref<8xf32>
      %y = arith.mulf %x, %x : f32
      affine.store %y, %a[%i] : memref<8xf32>
    } {loop_name = "i", pipeline_ii = 1 : ui32}"""
    module = compare(function(f"{loop}{loop}\nreturn", {"a": ("memref<8xf32>", "f32")}), "f")
    assert module.report.functions[0].operators == {"fmul_f32": 1}


def test_a_slot_shares_units_when_the_port_limits():
    lanes = "\n".join(
        f"""%x{n} = affine.load %a[%i * 8 + {n}] : memref<64xf32>
        %y{n} = arith.mulf %x{n}, %x{n} : f32
        affine.store %y{n}, %b[%i * 8 + {n}] : memref<64xf32>"""
        for n in range(8)
    )
    body = f"affine.for %i = 0 to 8 {{\n{lanes}\n}} {{pipeline_ii = 1 : ui32}}\nreturn"
    kinds = dict.fromkeys("ab", ("memref<64xf32>", "f32"))
    module = compare(function(body, kinds), "f")
    loop = module.report.functions[0].loops[0]
    assert (loop.ii, module.report.functions[0].operators) == (4, {"fmul_f32": 2})


def test_state_is_kept_and_reset():
    text = """module {
    memref.global "private" @__stateful_f_s_0 : memref<9xi16> = dense<5>
    func.func @f(%a: memref<9xi16>) attributes {arg_names = ["a"], arg_types = ["i16"],
        itypes = "s", otypes = "", res_types = []} {
      %s = memref.get_global @__stateful_f_s_0 : memref<9xi16>
      affine.for %i = 0 to 9 {
        %x = affine.load %a[%i] : memref<9xi16>
        %y = affine.load %s[%i] : memref<9xi16>
        %z = arith.addi %x, %y : i16
        affine.store %z, %s[%i] : memref<9xi16>
        affine.store %z, %a[%i] : memref<9xi16>
      } {loop_name = "i"}
      return
    }
    }"""
    module = compare(text, "f", runs=3)
    module.reset()
    a = np.arange(9, dtype=np.int16)
    module(a)
    np.testing.assert_array_equal(a, np.arange(9) + 5)


# --- refused -----------------------------------------------------------------------


def refusal(body: str, kinds: dict[str, tuple[str, str]] | None = None) -> str:
    with pytest.raises(UnsupportedOpError) as caught:
        compile_design(function(body, kinds or {"a": ("memref<8xi32>", "i32")}), "f")
    return str(caught.value)


def test_a_while_in_a_pipelined_loop_is_refused():
    message = refusal(
        """affine.for %i = 0 to 8 {
      scf.while : () -> () {
        %c = arith.constant false
        scf.condition(%c)
      } do {
        scf.yield
      } loc("k.py":7:9)
    } {pipeline_ii = 1 : ui32}
    return"""
    )
    assert message.startswith("k.py:7:9: A while loop stands inside a pipelined or unrolled loop.")
    assert "help: a for loop with a bound and a break in its place joins the pipeline" in message


def test_unrolling_an_unknown_number_of_iterations_is_refused():
    message = refusal(
        """%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      memref.store %x, %a[%i] : memref<8xi32>
    } {loop_name = "i", unroll = 0 : i32} loc("k.py":5:5)
    return""",
        {"a": ("memref<8xi32>", "i32"), "n": ("index", "index"), "x": ("i32", "i32")},
    )
    assert message.startswith(
        "k.py:5:5: Loop i must be unrolled, but its number of iterations is not known at compile "
        "time."
    )


def test_an_operation_without_hardware_is_refused():
    message = refusal(
        """%x = affine.load %a[0] : memref<8xf32>
    %y = math.cbrt %x : f32 loc("k.py":3:9)
    affine.store %y, %a[0] : memref<8xf32>
    return""",
        {"a": ("memref<8xf32>", "f32")},
    )
    assert message.startswith("k.py:3:9: There is no hardware operator for 'math.cbrt'")


def test_an_unknown_dialect_is_refused():
    message = refusal('%t = tensor.empty() : tensor<4xi32> loc("k.py":2:1)\nreturn')
    assert message.startswith("k.py:2:1: The RTL compiler does not support tensor.empty here.")


def test_recursion_is_refused():
    text = function(
        "func.call @f(%a) : (memref<8xi32>) -> ()\nreturn", {"a": ("memref<8xi32>", "i32")}
    )
    with pytest.raises(UnsupportedOpError) as caught:
        compile_design(text, "f")
    assert "Function f calls itself." in str(caught.value)


def test_an_unknown_top_is_refused():
    with pytest.raises(BuildError) as caught:
        compile_design(function("return", {"a": ("memref<8xi32>", "i32")}), "g")
    assert "There is no function 'g' in the module.\nhelp: it has: f." in str(caught.value)


def dot_product(kind: str, add: str, multiply: str) -> str:
    zero = "0.0" if kind.startswith("f") else "0"
    body = f"""affine.for %i = 0 to 6 {{
      affine.for %j = 0 to 5 {{
        %s = memref.alloc() {{name = "s"}} : memref<{kind}>
        %z = arith.constant {zero} : {kind}
        affine.store %z, %s[] : memref<{kind}> loc("dot.py":4:9)
        affine.for %k = 0 to 7 {{
          %a = affine.load %A[%i, %k] : memref<6x7x{kind}>
          %b = affine.load %B[%k, %j] : memref<7x5x{kind}>
          %p = arith.{multiply} %a, %b : {kind}
          %o = affine.load %s[] : memref<{kind}> loc("dot.py":6:13)
          %n = arith.{add} %o, %p : {kind} loc("dot.py":6:13)
          affine.store %n, %s[] : memref<{kind}> loc("dot.py":6:13)
        }} {{loop_name = "k", pipeline_ii = 1 : ui32}}
        %r = affine.load %s[] : memref<{kind}>
        affine.store %r, %C[%i, %j] : memref<6x5x{kind}>
      }} {{loop_name = "j"}}
    }} {{loop_name = "i"}}
    return"""
    shapes = {"A": "6x7", "B": "7x5", "C": "6x5"}
    return function(body, {n: (f"memref<{s}x{kind}>", kind) for n, s in shapes.items()})


def test_an_imperfect_nest_is_one_pipeline():
    module = compare(dot_product("i16", "addi", "muli"), "f")
    (loop,) = module.report.functions[0].loops
    assert (loop.name, loop.trips, loop.ii) == ("i.i*j*k", 210, 1)


def test_a_float_sum_names_its_recurrence(figures):
    module = compare(dot_product("f32", "addf", "mulf"), "f")
    (loop,) = module.report.functions[0].loops
    figures.hold("rtl.dot.ii", loop.ii)
    assert loop.limit.partition("; ")[0] == (
        f"II={loop.ii}: s line 6 -> line 4 (dot.py:6:13) through fadd_f32, "
        f"latency {loop.ii}, distance 1"
    )


def test_a_histogram_takes_the_stored_word_on_its_way():
    body = """affine.for %i = 0 to 30 {
      %x = affine.load %a[%i] : memref<30xi3>
      %k = arith.index_castui %x : i3 to index
      %old = memref.load %h[%k] : memref<8xi32>
      %one = arith.constant 1 : i32
      %new = arith.addi %old, %one : i32
      memref.store %new, %h[%k] : memref<8xi32>
    } {loop_name = "i", pipeline_ii = 1 : ui32}
    return"""
    kinds = {"a": ("memref<30xi3>", "ui3"), "h": ("memref<8xi32>", "i32")}
    module = compare(function(body, kinds), "f", runs=4)
    assert module.report.functions[0].loops[0].ii == 1


def test_functions_called_in_turn_share_their_units():
    calls = "func.call @first(%a) : (memref<8xf32>) -> ()\nfunc.call @second(%a) : (memref<8xf32>) -> ()"
    text = function(f"{calls}\nreturn", {"a": ("memref<8xf32>", "f32")})
    for name, step in (("first", 1), ("second", 2)):
        kernel = f"""
    func.func @{name}(%u: memref<8xf32>) attributes {{arg_names = ["u"], arg_types = ["f32"],
        itypes = "_", otypes = "", res_types = []}} {{
      affine.for %i = 0 to 8 step {step} {{
        %x = affine.load %u[%i] : memref<8xf32>
        %y = arith.mulf %x, %x : f32
        %z = arith.addf %y, %x : f32
        affine.store %z, %u[%i] : memref<8xf32>
      }} {{loop_name = "i", pipeline_ii = 1 : ui32}}
      return
    }}"""
        text = text.replace("module {", "module {" + kernel, 1)
    module = compare(text, "f", simulator="verilator")
    assert module.report.functions[-1].operators == {"fadd_f32": 1, "fmul_f32": 1}
    assert module.report.float_units == 2


def squares(A: float64[8], n: int32[8]):
    for i in range(8):
        A[i] = A[i] ** 2 - n[i] ** 2


def test_a_square_is_a_product():
    s = allo.customize(squares)
    A, n = np.random.default_rng(6).standard_normal(8), np.arange(8, dtype=np.int32)
    found = A.copy()
    s.build(target="verilog", simulator="jit")(found, n)
    np.testing.assert_array_equal(found, A * A - n * n)


def test_a_function_that_float64_has_no_hardware_for():
    def cubes(A: float64[8]):
        for i in range(8):
            A[i] = A[i] ** 3

    with pytest.raises(UnsupportedOpError) as caught:
        allo.customize(cubes).build(target="verilog")
    assert "There is no hardware operator for 'math.powf' of f64." in str(caught.value)
    assert "take its values from a table" in str(caught.value)


def ordered(a: int32, b: int32) -> (int32, int32):
    if a > b:
        return b, a
    return a, b


def sorted_by_calls(A: int32[12]):
    for i in range(11):
        for j in range(11 - i):
            A[j], A[j + 1] = ordered(A[j], A[j + 1])


def test_a_small_function_of_scalars_costs_no_call():
    """Two loads, the function and two stores take three cycles; a call alone would."""
    found = np.random.default_rng(7).integers(-99, 99, 12).astype(np.int32)
    expected = np.sort(found)
    hardware = allo.customize(sorted_by_calls).build(target="verilog", simulator="jit")
    hardware(found)
    np.testing.assert_array_equal(found, expected)
    assert hardware.cycles <= 3 * 66
