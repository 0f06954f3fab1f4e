"""The dataflow simulator: results, exact depths, nesting, thousands of processes."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from allo.backend.cpu import LLVMModule, build, build_simulator
from allo.backend.cpu.native.runtime import load_runtime
from allo.dialects.boundary.storage import decode, encode
from allo.dialects.diagnostics import BuildError, SimulationError, UnsupportedOpError
from allo.dialects.types import parse_type
from allo.target import BuildRequest

from .kernels import attributes, mlir
from .systolic import systolic_text
from .test_floats import floats
from .test_integers import cells, operands

DATA = Path(__file__).parents[1] / "data"


def data(name: str) -> str:
    return (DATA / f"dataflow_{name}.mlir").read_text()


def pipe_text(
    declared: str, count: int, depth: int, *, puts: int | None = None, gets: int | None = None
) -> str:
    """``top(A, B)``: source_0 puts A through FIFO pipe, sink_0 gets it into B."""
    kind, puts, gets = mlir(declared), puts or count, gets or count
    array, stream = f"memref<{count}x{kind}>", f"stream<{declared}, {depth}>"
    source = attributes(["a", "p"], [declared, stream], [])
    sink = attributes(["b", "p"], [declared, stream], [])
    top = attributes(["A", "B"], [declared, declared], [])
    settings = f'name = "pipe", dtype = "{declared}", depth = {depth} : i32'
    return f"""module {{
  func.func @source_0(%a: {array}, %p: index) attributes {{{source}}} {{
    affine.for %i = 0 to {puts} {{
      %v = affine.load %a[%i mod {count}] : {array}
      "allo.put"(%p, %v) : (index, {kind}) -> () loc("pipe.py":5:9)
    }} {{loop_name = "i"}}
    return
  }}
  func.func @sink_0(%b: {array}, %p: index) attributes {{{sink}}} {{
    affine.for %i = 0 to {gets} {{
      %v = "allo.get"(%p) : (index) -> {kind} loc("pipe.py":9:16)
      affine.store %v, %b[%i mod {count}] : {array}
    }} {{loop_name = "i"}}
    return
  }}
  func.func @top(%A: {array}, %B: {array}) attributes {{dataflow, region, {top}}} {{
    %pipe = "allo.stream"() {{{settings}}} : () -> index loc("pipe.py":2:5)
    call @source_0(%A, %pipe) : ({array}, index) -> ()
    call @sink_0(%B, %pipe) : ({array}, index) -> ()
    return
  }}
}}"""


@pytest.mark.parametrize("builder", [build, build_simulator])
def test_bursts_of_four_through_a_fifo_of_two(builder):
    module = builder(BuildRequest(data("burst"), "top", "simulator"))
    rng = np.random.default_rng(1)
    for _ in range(5):
        a = rng.standard_normal(32, dtype=np.float32)
        b = np.zeros(32, np.float32)
        assert module(a, b) is None
        np.testing.assert_array_equal(b, a.reshape(8, 4)[:, ::-1].ravel() + np.float32(1))


def test_fork_and_join_with_enough_depth():
    module = LLVMModule(data("forkjoin"), "top")
    a = np.random.default_rng(2).integers(-1000, 1000, 12, dtype=np.int32)
    b = np.zeros(12, np.int32)
    module(a, b)
    np.testing.assert_array_equal(b, (a.reshape(4, 3) * a.reshape(4, 3).sum(1)[:, None]).ravel())


def test_regions_inside_kernels():
    module = LLVMModule(data("nested"), "outer")
    a = np.random.default_rng(3).integers(-1000, 1000, (6, 4), dtype=np.int16)
    b, c = np.zeros_like(a), np.zeros_like(a)
    for _ in range(3):
        module(a, b, c)
        np.testing.assert_array_equal(b, 3 * a)
        np.testing.assert_array_equal(c, 15 * a)


def check_systolic(module: LLVMModule, rows: int, cols: int, k: int) -> None:
    rng = np.random.default_rng(4)
    a = rng.integers(-128, 128, (rows, k), dtype=np.int8)
    b = rng.integers(-128, 128, (k, cols), dtype=np.int8)
    c = np.zeros((rows, cols), np.int32)
    module(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def test_the_systolic_example():
    text = data("systolic_i8")
    assert text.endswith(systolic_text(8, 8, 8))
    check_systolic(LLVMModule(text, "top"), 8, 8, 8)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (2, 9, 4)])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_systolic_of_any_shape(shape: tuple[int, int, int], depth: int):
    check_systolic(LLVMModule(systolic_text(*shape, fifo_depth=depth), "top"), *shape)


def test_four_thousand_processes():
    module = LLVMModule(systolic_text(62, 63, 3), "top", opt_level=1)
    check_systolic(module, 62, 63, 3)


@pytest.mark.parametrize(
    "declared", ["ui1", "i7", "ui9", "i33", "i64", "ui100", "i257", "ui512", "index", "fixed(9, 4)"]
)
def test_any_integer_element(declared: str):
    dtype = parse_type(declared)
    values, _ = operands(dtype.bits, 5)
    raw = encode(np.array(values, object), parse_type(f"ui{dtype.bits}"))
    a = decode(raw.astype(np.int64) if declared == "index" else raw, dtype)
    b = np.zeros_like(a)
    LLVMModule(pipe_text(declared, len(values), 3), "top")(a, b)
    np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("declared", ["f16", "bf16", "f32", "f64"])
def test_any_float_element_keeps_its_bits(declared: str):
    a = floats(declared, 6)
    b = np.zeros_like(a)
    LLVMModule(pipe_text(declared, len(a), 2), "top")(a, b)
    np.testing.assert_array_equal(b.view(np.uint8), a.view(np.uint8))


def test_blocks_from_and_to_views():
    view = "memref<2x3xi12, strided<[6, 1], offset: 8>>"
    array, stream = "memref<4x6xi12>", "stream<2x3xi12, 1>"
    kernel = attributes(["a", "p"], ["i12", stream], [])
    top = attributes(["A", "B"], ["i12", "i12"], [])
    text = f"""module {{
      func.func @put_0(%a: {array}, %p: index) attributes {{{kernel}}} {{
        %v = memref.subview %a[1, 2] [2, 3] [1, 1] : {array} to {view}
        "allo.put"(%p, %v) : (index, {view}) -> ()
        return
      }}
      func.func @get_0(%a: {array}, %p: index) attributes {{{kernel}}} {{
        %v = memref.subview %a[1, 2] [2, 3] [1, 1] : {array} to {view}
        "allo.get_block"(%p, %v) : (index, {view}) -> ()
        return
      }}
      func.func @top(%A: {array}, %B: {array}) attributes {{dataflow, region, {top}}} {{
        %s = "allo.stream"() {{name = "s", dtype = "2x3xi12", depth = 1 : i32}} : () -> index
        call @get_0(%B, %s) : ({array}, index) -> ()
        call @put_0(%A, %s) : ({array}, index) -> ()
        return
      }}
    }}"""
    a = cells(operands(12, 7)[0][:24], "i12").reshape(4, 6)
    b = np.zeros_like(a)
    LLVMModule(text, "top")(a, b)
    want = np.zeros_like(a)
    want[1:3, 2:5] = a[1:3, 2:5]
    np.testing.assert_array_equal(b, want)


def test_leftovers_within_the_depth_are_dropped():
    module = LLVMModule(pipe_text("i32", 4, 3, puts=7, gets=4), "top")
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    for _ in range(3):
        module(a, b)
        np.testing.assert_array_equal(b, a)


def test_streams_in_a_plain_function_run_in_order():
    text = f"""func.func @f(%n: i32) -> i32 attributes {{{attributes(["n"], ["i32"], ["i32"])}}} {{
      %s = "allo.stream"() {{name = "s", dtype = "i32", depth = 2 : i32}} : () -> index
      "allo.put"(%s, %n) : (index, i32) -> ()
      "allo.put"(%s, %n) : (index, i32) -> ()
      %a = "allo.get"(%s) : (index) -> i32
      %b = "allo.get"(%s) : (index) -> i32
      %c = arith.addi %a, %b : i32
      return %c : i32
    }}"""
    assert LLVMModule(text, "f")(21) == 42


def test_prints_come_in_the_order_of_the_run(capsys: pytest.CaptureFixture[str]):
    given = attributes(["a", "x"], ["i7", "f32"], [])
    values = [("%i", "index"), ("%v", "i7"), ("%v", "ui7"), ("%x", "f32")]
    texts = [("", ": "), ("", " "), ("{", "} "), ("100% ", "\\0A")]
    prints = "\n".join(
        f'"allo.print"({value}) {{before = "{before}", after = "{after}", dtype = "{dtype}"}} : '
        f"({dtype.removeprefix('u')}) -> ()"
        for (value, dtype), (before, after) in zip(values, texts, strict=True)
    )
    text = f"""func.func @f(%a: memref<2x2xi7>, %x: f32) attributes {{{given}}} {{
      affine.for %i = 0 to 2 {{
        %v = affine.load %a[%i, 0] : memref<2x2xi7>
        {prints}
      }}
      "allo.print"(%a) {{before = "", after = "\\0A", dtype = "i7"}} : (memref<2x2xi7>) -> ()
      "allo.print"() {{before = "the end", after = "", dtype = ""}} : () -> ()
      return
    }}"""
    LLVMModule(text, "f")(np.array([[-3, 1], [5, -64]], np.int8), 1.5)
    assert capsys.readouterr().out == (
        "0: -3 {125} 100% 1.5\n1: 5 {5} 100% 1.5\n[[ -3   1]\n [  5 -64]]\nthe end"
    )


def test_a_failed_assertion_has_its_message_and_place():
    text = f"""func.func @f(%n: i32) attributes {{{attributes(["n"], ["i32"], [])}}} {{
      %c = arith.constant 10 : i32
      %ok = arith.cmpi slt, %n, %c : i32
      "allo.assert"(%ok) {{message = "n must be below ten"}} : (i1) -> () loc("user.py":4:5)
      return
    }}"""
    module = LLVMModule(text, "f")
    for _ in range(3):
        assert module(9) is None
        with pytest.raises(
            SimulationError, match=r"^user\.py:4:5: Assertion failed: n must be below ten"
        ):
            module(10)


def test_fibers_switch_by_ucontext_too(monkeypatch: pytest.MonkeyPatch):
    portable = load_runtime("ALLO_UCONTEXT")
    monkeypatch.setattr("allo.backend.cpu.module.load_runtime", lambda: portable)
    check_systolic(LLVMModule(data("systolic_i8"), "top"), 8, 8, 8)


def test_two_producers_are_refused_with_both_places():
    text = data("burst").replace(
        "call @consumer_0",
        'call @producer_0(%B, %pipe) : (memref<32xf32>, index) -> () loc("burst.py":20:5)\n'
        "    call @consumer_0",
    )
    with pytest.raises(
        BuildError, match=r"^burst\.py:4:5: FIFO pipe has 2 producers; it may have one"
    ) as caught:
        LLVMModule(text, "top")
    assert [str(note[1]) for note in caught.value.notes] == ["burst.py:9:13", "burst.py:9:13"]


def test_a_fifo_without_depth_is_refused():
    with pytest.raises(BuildError, match=r"FIFO pipe has depth 0; it needs at least 1"):
        LLVMModule(pipe_text("i8", 4, 0), "top")


def test_a_kernel_that_returns_a_value_is_refused():
    text = f"""module {{
      func.func @k_0() -> i32 attributes {{{attributes([], [], ["i32"])}}} {{
        %c = arith.constant 1 : i32
        return %c : i32
      }}
      func.func @top() attributes {{dataflow, region, {attributes([], [], [])}}} {{
        %r = call @k_0() : () -> i32 loc("user.py":8:5)
        return
      }}
    }}"""
    with pytest.raises(
        UnsupportedOpError, match=r"^user\.py:8:5: Kernel k_0 of a region returns a value"
    ):
        LLVMModule(text, "top")


def test_two_threads_simulate_at_once():
    module = LLVMModule(systolic_text(6, 7, 300), "top")
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                check_systolic(module, 6, 7, 300)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_kernel_alone_cannot_be_the_top():
    with pytest.raises(BuildError, match="Argument pipe of producer_0 is a stream") as caught:
        LLVMModule(data("burst"), "producer_0")
    assert (caught.value.help or "").startswith("build the region that connects the kernel")


def test_fifos_beyond_memory_are_an_error():
    module = LLVMModule(pipe_text("ui512", 4, 2_000_000_000), "top")
    a = cells([1, 2, 3, 4], "ui512")
    with pytest.raises(SimulationError, match="no memory left for stacks and FIFOs") as caught:
        module(a, a.copy())
    assert str(caught.value.help).startswith("make the FIFOs smaller")
