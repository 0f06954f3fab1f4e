"""The allo dialect: MLIR refuses an ill-formed operation, the verifier what IRDL cannot say."""

from __future__ import annotations

import re

import pytest

import allo
import allo.dataflow as df
from allo.dialects._mlir import ir, make_context, with_dialect
from allo.dialects.affine.loops import walk
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.parse import parse_module
from allo.dialects.declaration import DECLARATION
from allo.dialects.verify import problems, verify
from allo.errors import BuildError, VerificationError
from allo.ir.types import Stream, float32, int32
from allo.schedule import Schedule

STREAM = '"allo.stream"() {name = "s", dtype = "i32", depth = 4 : i32} : () -> index'
BLOCKS = '"allo.stream"() {name = "b", dtype = "4xi32", depth = 1 : i32} : () -> index'
CHECK = '{array = "x", shape = array<i64: 4, 8>}'
PAIR = '{array = "h", loop = "i", kind = "RAW", distance = 0 : i64, rank = 1 : i64}'
OPEN = '{array = "x", shape = array<i64: 4, -1>}'
TEXTS = 'before = "n = ", after = "\\0A"'


def text(body: str, place: str = "") -> str:
    """A function with the values that the cases name; the operation of the case at a place."""
    located = f' loc("{place}":7:3)' if place else ""
    return f"""func.func @f(%h: index, %q: index, %v: i32, %x: f32, %t: i1, %m: memref<4xi32>)
        attributes {{arg_names = ["h", "q", "v", "x", "t", "m"], itypes = "__s_ss", otypes = "",
        arg_types = ["stream<i32, 2>", "index", "i32", "f32", "i1", "i32"], res_types = []}} {{
      %s = {STREAM}
      %b = {BLOCKS}
      {body}{located}
      return
    }}"""


WELL_FORMED = [
    STREAM,
    BLOCKS,
    '"allo.stream"() {name = "t", dtype = "fixed(8, 3)", depth = 1 : i32} : () -> index',
    '"allo.put"(%s, %v) : (index, i32) -> ()',
    '"allo.put"(%h, %v) : (index, i32) -> ()',
    '"allo.put"(%b, %m) : (index, memref<4xi32>) -> ()',
    '%g = "allo.get"(%s) : (index) -> i32',
    '%g = "allo.get"(%h) : (index) -> i32',
    '"allo.get_block"(%b, %m) : (index, memref<4xi32>) -> ()',
    '%n = "allo.try_put"(%s, %v) : (index, i32) -> i1',
    '%n:2 = "allo.try_get"(%h) : (index) -> (i32, i1)',
    '%n = "allo.empty"(%s) : (index) -> i1',
    '%n = "allo.full"(%h) : (index) -> i1',
    f'"allo.check_bounds"(%t, %q, %q) {CHECK} : (i1, index, index) -> ()',
    f'"allo.check_bounds"(%t, %q, %q, %q) {OPEN} : (i1, index, index, index) -> ()',
    f'"allo.check_dependence"(%t, %q, %q, %q) {PAIR} : (i1, index, index, index) -> ()',
    f'"allo.print"(%v) {{{TEXTS}, dtype = "i32"}} : (i32) -> ()',
    f'"allo.print"(%v) {{{TEXTS}, dtype = "ui32"}} : (i32) -> ()',
    f'"allo.print"(%m) {{{TEXTS}, dtype = "i32"}} : (memref<4xi32>) -> ()',
    f'"allo.print"() {{{TEXTS}, dtype = ""}} : () -> ()',
    '"allo.assert"(%t) {message = "t does not hold"} : (i1) -> ()',
]

REFUSED_BY_MLIR = [
    # allo.stream
    ('%n = "allo.stream"() {dtype = "i32", depth = 4 : i32} : () -> index', '"name" is expected'),
    ('%n = "allo.stream"() {name = "s", depth = 4 : i32} : () -> index', '"dtype" is expected'),
    ('%n = "allo.stream"() {name = "s", dtype = "i32"} : () -> index', '"depth" is expected'),
    (STREAM.replace('"s"', "3"), "expected base attribute 'builtin.string'"),
    (STREAM.replace('"i32"', "i32"), "expected base attribute 'builtin.string'"),
    (STREAM.replace("4 : i32", '"4"'), "expected base attribute 'builtin.integer'"),
    (STREAM.replace("-> index", "-> i64"), "expected 'index' but got 'i64'"),
    (STREAM.replace("-> index", "-> ()"), "expects exactly 1 results, but got 0"),
    (STREAM.replace("()", "(%v)", 1).replace("() ->", "(i32) ->"), "exactly 0 operands, but got 1"),
    # allo.put
    ('"allo.put"(%s) : (index) -> ()', "expects exactly 2 operands, but got 1"),
    ('"allo.put"(%s, %v, %v) : (index, i32, i32) -> ()', "exactly 2 operands, but got 3"),
    ('"allo.put"(%v, %v) : (i32, i32) -> ()', "expected 'index' but got 'i32'"),
    ('%n = "allo.put"(%s, %v) : (index, i32) -> i32', "expects exactly 0 results, but got 1"),
    ('"allo.put"(%s, %v) ({}) : (index, i32) -> ()', "expected 0 but got 1"),
    # allo.get
    ('%n = "allo.get"() : () -> i32', "expects exactly 1 operands, but got 0"),
    ('%n = "allo.get"(%v) : (i32) -> i32', "expected 'index' but got 'i32'"),
    ('"allo.get"(%s) : (index) -> ()', "expects exactly 1 results, but got 0"),
    ('%n:2 = "allo.get"(%s) : (index) -> (i32, i32)', "expects exactly 1 results, but got 2"),
    # allo.get_block
    ('"allo.get_block"(%b) : (index) -> ()', "expects exactly 2 operands, but got 1"),
    ('"allo.get_block"(%m, %m) : (memref<4xi32>, memref<4xi32>) -> ()', "expected 'index'"),
    ('"allo.get_block"(%b, %v) : (index, i32) -> ()', "expected base type 'builtin.memref'"),
    ('%n = "allo.get_block"(%b, %m) : (index, memref<4xi32>) -> i32', "exactly 0 results"),
    # what does not wait
    ('"allo.try_put"(%s, %v) : (index, i32) -> ()', "expects exactly 1 results, but got 0"),
    ('%n = "allo.try_put"(%s) : (index) -> i1', "expects exactly 2 operands, but got 1"),
    ('%n = "allo.try_put"(%s, %v) : (index, i32) -> i32', "expected 'i1' but got 'i32'"),
    ('%n = "allo.try_get"(%s) : (index) -> i32', "expects exactly 2 results, but got 1"),
    ('%n:2 = "allo.try_get"(%s) : (index) -> (i32, i32)', "expected 'i1' but got 'i32'"),
    ('%n = "allo.empty"() : () -> i1', "expects exactly 1 operands, but got 0"),
    ('%n = "allo.empty"(%v) : (i32) -> i1', "expected 'index' but got 'i32'"),
    ('%n = "allo.full"(%s) : (index) -> i32', "expected 'i1' but got 'i32'"),
    # allo.check_bounds
    (f'"allo.check_bounds"() {CHECK} : () -> ()', "expects at least 1 operands, but got 0"),
    (f'"allo.check_bounds"(%v, %q) {CHECK} : (i32, index) -> ()', "expected 'i1' but got 'i32'"),
    (f'"allo.check_bounds"(%t, %v) {CHECK} : (i1, i32) -> ()', "expected 'index' but got 'i32'"),
    ('"allo.check_bounds"(%t) {array = "x"} : (i1) -> ()', '"shape" is expected'),
    ('"allo.check_bounds"(%t) {shape = array<i64: 4>} : (i1) -> ()', '"array" is expected'),
    (
        '"allo.check_bounds"(%t, %q) {array = "x", shape = [4]} : (i1, index) -> ()',
        "expected base attribute 'builtin.dense_array'",
    ),
    # allo.check_dependence
    (f'"allo.check_dependence"(%v) {PAIR} : (i32) -> ()', "expected 'i1' but got 'i32'"),
    (
        f'"allo.check_dependence"(%t) {PAIR.replace("kind", "of")} : (i1) -> ()',
        '"kind" is expected',
    ),
    # allo.print
    (
        f'"allo.print"(%v, %x) {{{TEXTS}, dtype = "i32"}} : (i32, f32) -> ()',
        "expects at most 1 operands, but got 2",
    ),
    (f'"allo.print"(%v) {{{TEXTS}}} : (i32) -> ()', '"dtype" is expected'),
    ('"allo.print"(%v) {before = "", dtype = "i32"} : (i32) -> ()', '"after" is expected'),
    ('"allo.print"(%v) {after = "", dtype = "i32"} : (i32) -> ()', '"before" is expected'),
    (f'"allo.print"(%v) {{{TEXTS}, dtype = i32}} : (i32) -> ()', "attribute 'builtin.string'"),
    # allo.assert
    ('"allo.assert"() {message = "m"} : () -> ()', "expects exactly 1 operands, but got 0"),
    ('"allo.assert"(%v) {message = "m"} : (i32) -> ()', "expected 'i1' but got 'i32'"),
    ('"allo.assert"(%t) : (i1) -> ()', '"message" is expected'),
    ('"allo.assert"(%t) {message = 3} : (i1) -> ()', "expected base attribute 'builtin.string'"),
    # no operation of ours
    ('"allo.stream_of"(%v) : (i32) -> ()', "unregistered operation 'allo.stream_of'"),
]

REFUSED_BY_RULES = [
    (STREAM.replace("4 :", "0 :"), "allo.stream: FIFO s has depth 0; it needs at least 1."),
    (STREAM.replace('"i32"', '"real"'), "allo.stream: 'real' names no data type."),
    (
        STREAM.replace('"i32"', '"stream<i32, 2>"'),
        "allo.stream: 'stream<i32, 2>' names no element of a stream.",
    ),
    (
        '"allo.put"(%q, %v) : (index, i32) -> ()',
        "the first operand of allo.put is the handle of no stream.",
    ),
    ('"allo.put"(%s, %x) : (index, f32) -> ()', "allo.put passes f32 on a stream of i32."),
    ('"allo.put"(%h, %x) : (index, f32) -> ()', "allo.put passes f32 on a stream of i32."),
    ('"allo.put"(%b, %v) : (index, i32) -> ()', "allo.put passes i32 on a stream of 4xi32."),
    (
        '"allo.put"(%s, %m) : (index, memref<4xi32>) -> ()',
        "allo.put passes memref<4xi32> on a stream of i32.",
    ),
    ('%n = "allo.get"(%s) : (index) -> i8', "allo.get passes i8 on a stream of i32."),
    (
        '%n = "allo.get"(%q) : (index) -> i32',
        "the first operand of allo.get is the handle of no stream.",
    ),
    ('%n = "allo.try_put"(%s, %x) : (index, f32) -> i1', "allo.try_put passes f32 on a stream"),
    (
        '%n:2 = "allo.try_get"(%s) : (index) -> (i8, i1)',
        "allo.try_get passes i8 on a stream of i32.",
    ),
    ('%n = "allo.empty"(%b) : (index) -> i1', "allo.empty is of a stream of blocks, 4xi32."),
    (
        '%n = "allo.full"(%q) : (index) -> i1',
        "the first operand of allo.full is the handle of no stream.",
    ),
    (
        '%a = memref.alloc() {name = "a"} : memref<5xi32>\n'
        '"allo.get_block"(%b, %a) : (index, memref<5xi32>) -> ()',
        "allo.get_block passes memref<5xi32> on a stream of 4xi32.",
    ),
    (
        f'"allo.check_bounds"(%t, %q) {CHECK} : (i1, index) -> ()',
        "allo.check_bounds has 1 subscripts and extents for a shape that asks for 2.",
    ),
    (
        f'"allo.check_bounds"(%t, %q, %q) {OPEN} : (i1, index, index) -> ()',
        "allo.check_bounds has 2 subscripts and extents for a shape that asks for 3.",
    ),
    (
        f'"allo.check_bounds"(%t, %q, %q) {CHECK.replace("i64", "i32")} : (i1, index, index) -> ()',
        "the shape of allo.check_bounds is array<i32: 4, 8>, not an array of i64.",
    ),
    (
        f'"allo.check_dependence"(%t, %q, %q) {PAIR} : (i1, index, index) -> ()',
        "allo.check_dependence has 2 iterators and subscripts where it tells 3.",
    ),
    (
        f'"allo.print"(%v) {{{TEXTS}, dtype = "f32"}} : (i32) -> ()',
        "allo.print has dtype 'f32' for a value of type i32.",
    ),
    (
        f'"allo.print"(%m) {{{TEXTS}, dtype = "i8"}} : (memref<4xi32>) -> ()',
        "allo.print has dtype 'i8' for a value of type i32.",
    ),
    (
        f'"allo.print"(%v) {{{TEXTS}, dtype = ""}} : (i32) -> ()',
        "allo.print: '' names no data type.",
    ),
    (
        f'"allo.print"() {{{TEXTS}, dtype = "i32"}} : () -> ()',
        "allo.print has dtype 'i32' and no value.",
    ),
    (
        '%a = memref.alloc() {name = "a"} : memref<4xi32, "stream:4;SX">',
        'memory space "stream:4;SX" is not "stream:<depth>" or "stream:<depth>;<S or T a dimension>".',
    ),
    (
        '%a = memref.alloc() {name = "a"} : memref<4xi32, "stream:0">',
        'memory space "stream:0" is not',
    ),
]


def operation(name: str) -> str:
    return re.sub(r"%\w+(:\d)? = ", "", name)


@pytest.mark.parametrize("body", WELL_FORMED, ids=range(len(WELL_FORMED)))
def test_well_formed_operations_pass(body: str):
    module = parse_module(text(body))
    verify(module)
    assert operation(body).split("(")[0] in str(module)
    assert str(parse_module(str(module))) == str(module)


@pytest.mark.parametrize(("body", "sentence"), REFUSED_BY_MLIR, ids=range(len(REFUSED_BY_MLIR)))
def test_mlir_refuses_an_ill_formed_operation(body: str, sentence: str):
    with pytest.raises(BuildError, match=re.escape(sentence)) as caught:
        parse_module(text(body, "user.py"))
    assert str(caught.value).startswith("user.py:7:3: The core IR does not parse: ")


@pytest.mark.parametrize(("body", "sentence"), REFUSED_BY_RULES, ids=range(len(REFUSED_BY_RULES)))
def test_the_verifier_refuses_what_irdl_cannot_say(body: str, sentence: str):
    module = parse_module(text(body, "user.py"))
    with pytest.raises(VerificationError, match=re.escape(f"In f: {sentence}")) as caught:
        verify(module)
    assert str(caught.value).startswith("user.py:7:3: ")
    assert len(list(problems(module))) == 1


def test_each_operation_is_tried():
    declared = {f'"allo.{name}"' for name in re.findall(r"operation @(\w+)", DECLARATION)}
    assert declared == {operation(body).split("(")[0] for body in WELL_FORMED}
    tried = " ".join(body for body, _ in REFUSED_BY_MLIR)
    assert [name for name in declared if f"{name}(" not in tried] == []


def test_an_argument_in_no_memory_space_of_streams_is_refused():
    module = parse_module(
        'func.func @f(%a: memref<4xi32, "FIFO">) attributes {arg_names = ["a"], '
        'arg_types = ["i32"], itypes = "s", otypes = "", res_types = []} { return }'
    )
    with pytest.raises(VerificationError, match='in f\'s arguments, memory space "FIFO" is not'):
        verify(module)


def test_an_operation_of_no_dialect_is_refused():
    with pytest.raises(BuildError, match=r"line 6, column \d+ of the text: .*unregistered dialect"):
        parse_module(text('"foo.bar"(%v) : (i32) -> ()'))


def test_an_operation_made_in_place_is_refused():
    module = parse_module(text(""))
    block = module.body.operations[0].regions[0].blocks[0]
    with module.context, ir.Location.file("user.py", 7, 3):
        ir.Operation.create("allo.put", ip=ir.InsertionPoint.at_block_begin(block))
    with pytest.raises(VerificationError, match="exactly 2 operands, but got 0"):
        verify(module)


def test_a_build_and_a_schedule_refuse_it():
    ill = text('"allo.put"(%s) : (index) -> ()')
    for take in (Schedule.from_text, parse_module, allo.ir.utils.invoke_mlir_parser):
        with pytest.raises(BuildError, match="exactly 2 operands, but got 1"):
            take(ill)


@df.region()
def doubled(A: float32[8], B: float32[8]):
    pipe: Stream[float32, 2]

    @df.kernel(mapping=[1], args=[A])
    def load(a: float32[8]):
        for i in range(8):
            pipe.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def store(b: float32[8]):
        for i in range(8):
            b[i] = pipe.get() * 2.0


def test_a_context_is_given_the_dialect_once():
    context = ir.Context()
    assert not context.is_registered_operation("allo.put")
    made = allo.customize(doubled, context=context)
    assert made.module.context is context
    assert with_dialect(context) is context
    again = Schedule.from_text(str(made.module), context=context)
    assert str(again.module) == str(made.module) == str(allo.customize(doubled).module)
    verify(again.module)


def test_contexts_refuse_dialects_that_are_not_registered():
    assert not make_context().allow_unregistered_dialects


def test_a_print_reads_the_array_it_prints():
    ordered = """func.func @f(%x: memref<4xi32>) attributes {arg_names = ["x"], arg_types = ["i32"],
        itypes = "s", otypes = "", res_types = []} {
      %k = arith.constant 2 : i32
      affine.for %i = 0 to 4 {
        PRINT
        affine.store %k, %x[%i] {to = "x"} : memref<4xi32>
      } {loop_name = "i", op_name = "S_i_0"}
      return
    }"""
    shown = '"allo.print"(%x) {before = "", after = "", dtype = "i32"} : (memref<4xi32>) -> ()'
    module = parse_module(ordered.replace("PRINT", shown))
    effects = EffectAnalysis(module.operation)
    (found,) = [op for op in walk(module.operation) if op.name == "allo.print"]
    argument = module.body.operations[0].regions[0].blocks[0].arguments[0]
    reads = [e.memory.key for e in effects.effects_of(found) if not e.writes]
    assert argument in reads and "#output" in reads


def prints(n: int32):
    print("n", n)


def test_what_the_frontend_makes_of_a_print_is_legal():
    module = allo.customize(prints).module
    verify(module, places=True)
    assert '{after = "\\0A", before = "n ", dtype = "i32"}' in str(module)
