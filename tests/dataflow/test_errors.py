"""What users of the dataflow language are told: whole messages."""

import textwrap

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import (
    BuildError,
    CompileTimeError,
    DataflowError,
    ShapeMismatchError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedSyntaxError,
)

PREFIX = """\
import allo
import allo.dataflow as df
from allo.ir.types import *
"""


def failing(body, kind, tmp_path):
    """The message of customising ``top``, its file shown as ``k.py``."""
    path = tmp_path / "k.py"
    text = PREFIX + textwrap.dedent(body)
    path.write_text(text)
    space = {"__name__": "k"}
    exec(compile(text, str(path), "exec"), space)
    with pytest.raises(kind) as caught:
        df.customize(space["top"])
    assert not isinstance(caught.value, SystemExit)
    return str(caught.value).replace(str(path), "k.py")


CASES = [
    (
        """\
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32, 2]
            @df.kernel(mapping=[2], args=[A])
            def send(a: int32[4]):
                pipe.put(a[0])
        """,
        DataflowError,
        """\
        k.py:9:9: Stream pipe has 2 producers: send_0 and send_1.
            9 |         pipe.put(a[0])
              |         ^^^^
        note: k.py:9:9: send_0 puts here
            9 |         pipe.put(a[0])
              |         ^^^^
        note: k.py:6:5: the stream
            6 |     pipe: Stream[int32, 2]
              |     ^^^^^^^^^^^^^^^^^^^^^^
        help: a FIFO has one kernel instance at each end; use an array of streams, one for each pair.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4], B: int32[4]):
            pipe: Stream[int32, 2]
            @df.kernel(mapping=[1], args=[A])
            def left(a: int32[4]):
                a[0] = pipe.get()
            @df.kernel(mapping=[1], args=[B])
            def right(b: int32[4]):
                b[0] = pipe.get()
        """,
        DataflowError,
        """\
        k.py:12:16: Stream pipe has 2 consumers: left_0 and right_0.
           12 |         b[0] = pipe.get()
              |                ^^^^
        note: k.py:9:16: left_0 gets here
            9 |         a[0] = pipe.get()
              |                ^^^^
        note: k.py:6:5: the stream
            6 |     pipe: Stream[int32, 2]
              |     ^^^^^^^^^^^^^^^^^^^^^^
        help: a FIFO has one kernel instance at each end; use an array of streams, one for each pair.""",
    ),
    (
        """\
        @df.region()
        def top(A: Struct({"x": int16, "y": int16})[4]):
            pipe: Stream[int32, 2]
            @df.kernel(mapping=[1], args=[A])
            def send(a: Struct({"x": int16, "y": int16})[4]):
                pipe.put(a[0])
        """,
        TypeMismatchError,
        """\
        k.py:9:18: Stream pipe carries i32, but a value of type struct<x: i16, y: i16> is put.
            9 |         pipe.put(a[0])
              |                  ^^^^
        note: k.py:6:5: the stream
            6 |     pipe: Stream[int32, 2]
              |     ^^^^^^^^^^^^^^^^^^^^^^
        help: numbers are cast as an assignment casts them; a Struct is put where its fields are \
put.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            @df.kernel(args=[A])
            def send(a: int32[4]):
                a[0] = 1
        """,
        DataflowError,
        """\
        k.py:6:6: Missing kernel mapping: the df.kernel 'send' is missing required 'mapping' parameter.
            6 |     @df.kernel(args=[A])
              |      ^^^^^^^^^^^^^^^^^^^
        help: write @df.kernel(mapping=[1], args=[a]) for a single instance.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            @df.kernel(mapping=[1], args=[A])
            def send(a: int32[4], b: int32[4]):
                a[0] = 1
        """,
        DataflowError,
        """\
        k.py:6:34: 'args' length mismatch: df.kernel 'send' has 2 parameters, but args= names 1.
            6 |     @df.kernel(mapping=[1], args=[A])
              |                                  ^^^
        help: name one array of the region for each parameter.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4], n: int32):
            @df.kernel(mapping=[1], args=[A, n])
            def k(a: int32[4], m: int32):
                a[0] = m
        """,
        DataflowError,
        """\
        k.py:6:38: Scalar 'n' cannot appear in `args=[...]` on @df.kernel 'k'.
            6 |     @df.kernel(mapping=[1], args=[A, n])
              |                                      ^
        help: use n by name inside the kernel; it is passed along by itself.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[8]):
                a[0] = 1
        """,
        ShapeMismatchError,
        """\
        k.py:6:35: df.kernel argument a do not match A: k wants i32[8], but A is i32[4].
            6 |     @df.kernel(mapping=[1], args=[A])
              |                                   ^
        note: k.py:7:11: the parameter
            7 |     def k(a: int32[8]):
              |           ^^^^^^^^^^^
        help: give both the same element type and shape.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            pipes: Stream[int32, 2][4]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                for i in range(4):
                    pipes[i].put(a[i])
        """,
        CompileTimeError,
        """\
        k.py:10:19: An index of stream pipes must be known at compile time, but i is known only at run time.
           10 |             pipes[i].put(a[i])
              |                   ^
        help: use a number, a captured Python value, a template parameter, a ConstExpr or a meta_for \
variable.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            pipes: Stream[int32, 2][2]
            @df.kernel(mapping=[3], args=[A])
            def k(a: int32[4]):
                p = df.get_pid()
                pipes[p].put(a[p])
        """,
        ShapeMismatchError,
        """\
        k.py:10:15: Index out of range: 2 for a dimension of extent 2 of stream pipes.
           10 |         pipes[p].put(a[p])
              |               ^
        help: indices count from 0 to one less than the extent.""",
    ),
    (
        """\
        def use(s: int32) -> int32:
            return s
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32, 2]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                a[0] = use(pipe)
        """,
        TypeMismatchError,
        """\
        k.py:11:20: Stream pipe is not used correctly: use takes no stream for s.
           11 |         a[0] = use(pipe)
              |                    ^^^^
        help: declare s as a Stream in use.""",
    ),
    (
        """\
        def send(s: Stream[int16, 4]):
            s.put(1)
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32, 2]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                send(pipe)
        """,
        TypeMismatchError,
        """\
        k.py:11:14: Argument s of send is a stream<i16, 4>, but pipe is a stream<i32, 2>.
           11 |         send(pipe)
              |              ^^^^
        note: k.py:8:5: the stream
            8 |     pipe: Stream[int32, 2]
              |     ^^^^^^^^^^^^^^^^^^^^^^
        help: both carry the same words; the depth may differ.""",
    ),
    (
        """\
        def echo(s: Stream[int32, 4]):
            word: int32 = s.get()
            s.put(word)
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32, 2]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                echo(pipe)
        """,
        DataflowError,
        """\
        k.py:6:5: echo both puts into and gets from its stream s.
            6 |     s.put(word)
              |     ^
        note: k.py:4:10: the argument
            4 | def echo(s: Stream[int32, 4]):
              |          ^^^^^^^^^^^^^^^^^^^
        help: a FIFO has one end in a kernel; use two streams.""",
    ),
    (
        """\
        def idle(s: Stream[int32, 4], a: int32[4]):
            a[0] = 1
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32, 2]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                idle(pipe, a)
        """,
        DataflowError,
        """\
        k.py:11:14: idle neither puts into nor gets from its stream s.
           11 |         idle(pipe, a)
              |              ^^^^
        help: leave the argument out.""",
    ),
    (
        """\
        def send(s: Stream[int32, 4], a: int32[4]):
            s.put(a[0])
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32, 2]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                send(a, a)
        """,
        DataflowError,
        """\
        k.py:11:14: Argument s of send is a stream, but a is none.
           11 |         send(a, a)
              |              ^
        help: pass a stream of the region by its name.""",
    ),
    (
        """\
        def send(s: Stream[int32, 4][2], a: int32[4]):
            s[0].put(a[0])
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32, 2][2]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                send(pipe, a)
        """,
        DataflowError,
        """\
        k.py:4:13: Argument 's' of send is an array of streams; a function takes one.
            4 | def send(s: Stream[int32, 4][2], a: int32[4]):
              |             ^^^^^^^^^^^^^^^^^^^
        help: pass the FIFOs that it uses one by one.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            for i in range(4):
                A[i] = 0
        """,
        DataflowError,
        """\
        k.py:6:5: A region holds streams and kernels only, not a For statement.
            6 |     for i in range(4):
              |     ^^^^^^^^^^^^^^^^^^
        help: move the computation into a df.kernel.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            @df.kernel(mapping=[1])
            def k():
                A[0] = 1
        """,
        UnknownNameError,
        """\
        k.py:8:9: The name 'A' is not defined.
            8 |         A[0] = 1
              |         ^
        note: k.py:5:9: A of the region
            5 | def top(A: int32[4]):
              |         ^^^^^^^^^^^
        help: A is an array of the region: name it in args=[...] and give the kernel a parameter for it.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32, depth]
        """,
        UnknownNameError,
        """\
        k.py:6:25: The name 'depth' is not defined.
            6 |     pipe: Stream[int32, depth]
              |                         ^^^^^
        help: assign it first, make it an argument, or define it where the kernel is defined.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[Fixd(8, 4), 2]
        """,
        UnknownNameError,
        """\
        k.py:6:18: The name 'Fixd' is not defined.
            6 |     pipe: Stream[Fixd(8, 4), 2]
              |                  ^^^^
        help: did you mean 'Fixed'?""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32, 2]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                pipe.peek(a[0])
        """,
        UnsupportedSyntaxError,
        """\
        k.py:9:9: Stream pipe has no operation .peek.
            9 |         pipe.peek(a[0])
              |         ^^^^^^^^^
        help: streams have .put and .get, and .try_put, .try_get, .empty and .full.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4, 4]):
            blocks: Stream[int32[2, 2], 2]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4, 4]):
                blocks.put(a)
        """,
        ShapeMismatchError,
        """\
        k.py:9:20: Stream blocks carries blocks of shape [2, 2], but an array of shape [4, 4] is put.
            9 |         blocks.put(a)
              |                    ^
        note: k.py:6:5: the stream
            6 |     blocks: Stream[int32[2, 2], 2]
              |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        help: put a block of that shape, or declare the stream with the shape that is put.""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            pipe: Stream[int32]
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                pass
        """,
        CompileTimeError,
        """\
        k.py:6:11: A Stream takes an element type and a depth: Stream[int32, 4].
            6 |     pipe: Stream[int32]
              |           ^^^^^^^^^^^^^""",
    ),
    (
        """\
        @df.region()
        def top(A: int32[4]):
            @df.kernel(mapping=[0], args=[A])
            def k(a: int32[4]):
                a[0] = 1
        """,
        CompileTimeError,
        """\
        k.py:6:24: The mapping of k must be 1 to 3 positive integers, not [0].
            6 |     @df.kernel(mapping=[0], args=[A])
              |                        ^^^
        help: write mapping=[1] for one instance, mapping=[2, 4] for eight.""",
    ),
]


@pytest.mark.parametrize(("body", "kind", "message"), CASES, ids=range(len(CASES)))
def test_message(body, kind, message, tmp_path):
    assert failing(body, kind, tmp_path) == textwrap.dedent(message)


def test_a_kernel_outside_a_region(tmp_path):
    body = """\
        def helper(A: int32[4]):
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                a[0] = 1
        @df.region()
        def top(A: int32[4]):
            @df.kernel(mapping=[1], args=[A])
            def k(a: int32[4]):
                helper(a)
        """
    text = failing(body, DataflowError, tmp_path)
    assert text.splitlines()[0] == "k.py:5:6: The df.kernel 'k' does not stand in a df.region."


@pytest.mark.parametrize("decorator", ["region", "part"])
def test_a_decorator_without_its_parentheses_is_refused(decorator):
    def top(): ...

    with pytest.raises(DataflowError, match=f"df.{decorator} takes nothing, and was given") as e:
        getattr(df, decorator)(top)
    assert e.value.help == f"write @df.{decorator}() above the def, with parentheses."


def test_what_is_no_region_is_refused():
    def plain(A: "int32[4]"):
        A[0] = 1

    with pytest.raises(DataflowError, match="plain is not a dataflow region"):
        df.customize(plain)


@pytest.mark.parametrize("option", ["profile", "trace", "mapping_primitives"])
def test_options_of_the_npu_are_refused(option):
    @df.region()
    def top(A: "int32[4]"):
        pass

    with pytest.raises(BuildError, match="only supported for AIE target"):
        df.build(top, target="simulator", **{option: [("chain", [])]})


@pytest.mark.parametrize("decorator", ["region", "part"])
def test_a_region_that_is_called_as_python_is_refused(decorator):
    @getattr(df, decorator)()
    def top(A: "int32[4]"):
        @df.kernel(mapping=[1], args=[A])
        def k(a: "int32[4]"):
            a[0] = 1

    with pytest.raises(DataflowError) as caught:
        top(np.zeros(4, np.int32))
    text = str(caught.value)
    assert "top is a region, which is compiled and not called as a Python function." in text
    assert "top(np.zeros(4, np.int32))" in text and "^" in text
    assert caught.value.help == (
        'build it first: df.build(top, target="simulator")(…), or allo.interpret(top)(…).'
    )
