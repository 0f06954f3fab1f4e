"""What users are told: whole messages, with place, caret and remedy."""

import re
import textwrap

import pytest

from allo.errors import (
    CompileTimeError,
    FrontendError,
    ShapeMismatchError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedSyntaxError,
)
from allo.frontend import build_module
from allo.ir.types import UInt, int32

PREFIX = """
import allo
from allo.ir.types import *
W = None
"""


def failing(body, kind, *, tmp_path, name="kernel", **kw):
    """The message of building ``name``, its file shown as ``k.py``."""
    path = tmp_path / "k.py"
    text = PREFIX.lstrip() + textwrap.dedent(body)
    path.write_text(text)
    space = {"__name__": "k"}
    exec(compile(text, str(path), "exec"), space)
    with pytest.raises(kind) as caught:
        build_module(space[name], **kw)
    assert not isinstance(caught.value, SystemExit)
    return str(caught.value).replace(str(path), "k.py")


CASES = [
    (
        """
        def kernel(A: int32[4]):
            for i in range(4):
                A[i] = lambda x: x
        """,
        UnsupportedSyntaxError,
        """\
        k.py:7:16: Unsupported node "Lambda": it has no meaning in a kernel.
            7 |         A[i] = lambda x: x
              |                ^^^^^^^^^^^
        help: define a nested function with annotated arguments.""",
    ),
    (
        """
        def kernel(weights: int32[4]) -> int32:
            x: int32 = weigths[0]
            return x
        """,
        UnknownNameError,
        """\
        k.py:6:16: The name 'weigths' is not defined.
            6 |     x: int32 = weigths[0]
              |                ^^^^^^^
        help: did you mean 'weights'?""",
    ),
    (
        """
        def kernel():
            C: Undefined[32, 32] = 0
        """,
        UnknownNameError,
        """\
        k.py:6:8: Unsupported type `Undefined`.
            6 |     C: Undefined[32, 32] = 0
              |        ^^^^^^^^^
        help: import it from allo.ir.types, or make it a template parameter.""",
    ),
    (
        """
        def kernel():
            C: Fixd(8, 4)[32] = 0
        """,
        UnknownNameError,
        """\
        k.py:6:8: Unsupported type `Fixd`.
            6 |     C: Fixd(8, 4)[32] = 0
              |        ^^^^
        help: did you mean 'Fixed'?""",
    ),
    (
        """
        def kernel():
            C: UInt(bits)[32] = 0
        """,
        UnknownNameError,
        """\
        k.py:6:13: The name 'bits' is not defined.
            6 |     C: UInt(bits)[32] = 0
              |             ^^^^
        help: assign it first, make it an argument, or define it where the kernel is defined.""",
    ),
    (
        """
        def kernel():
            C: ConstExpr[Ty] = 0
        """,
        UnknownNameError,
        """\
        k.py:6:18: The name 'Ty' is not defined.
            6 |     C: ConstExpr[Ty] = 0
              |                  ^^
        help: assign it first, make it an argument, or define it where the kernel is defined.""",
    ),
    (
        """
        def kernel(x: float32) -> int32:
            y: int32 = x << 2
            return y
        """,
        TypeMismatchError,
        """\
        k.py:6:16: Cannot shift f32 and i32: the default typing rules define no '<<' for this pair.
            6 |     y: int32 = x << 2
              |                ^^^^^^
        help: cast one side first by assigning it to an annotated variable.""",
    ),
    (
        """
        def mm(A: float32[4, 8]) -> float32:
            return A[0, 0]
        def kernel(B: float32[8, 4]) -> float32:
            return mm(B)
        """,
        ShapeMismatchError,
        """\
        k.py:8:15: Argument 1 of mm (A) is f32[8, 4], but mm wants f32[4, 8].
            8 |     return mm(B)
              |               ^
        note: k.py:5:8: declared here
            5 | def mm(A: float32[4, 8]) -> float32:
              |        ^^^^^^^^^^^^^^^^
        help: give both sides the same element type and shape.""",
    ),
    (
        """
        def kernel(n: int32) -> int32:
            return kernel(n - 1)
        """,
        UnsupportedSyntaxError,
        """\
        k.py:6:12: kernel calls itself; hardware has no call stack.
            6 |     return kernel(n - 1)
              |            ^^^^^^^^^^^^^
        help: write the recursion as a loop with its own stack array.""",
    ),
    (
        """
        def kernel() -> int32:
            pass
        """,
        TypeMismatchError,
        """\
        k.py:5:5: Missing return statement: kernel says it returns i32.
            5 | def kernel() -> int32:
              |     ^^^^^^
        help: return the value on the last line, or drop the `->`.""",
    ),
    (
        """
        def kernel(n: int32):
            return n
        """,
        TypeMismatchError,
        """\
        k.py:6:5: Return value should have a dtype in function signature.
            6 |     return n
              |     ^^^^^^^^
        help: write `-> type` behind the arguments.""",
    ),
    (
        """
        def kernel() -> int32:
            return
        """,
        TypeMismatchError,
        """\
        k.py:6:5: Mismatch in function signature: kernel must return i32.
            6 |     return
              |     ^^^^^^
        help: return what the annotation behind -> says, or change it.""",
    ),
    (
        """
        def kernel(A: int32[4, 4]):
            for i in range(4):
                for i in range(4):
                    A[i, i] = 0
        """,
        UnknownNameError,
        """\
        k.py:7:13: The name 'i' is already in use. Please choose a different name for the loop iterator.
            7 |         for i in range(4):
              |             ^
        help: rename the iterator, or the variable.""",
    ),
    (
        """
        def kernel(n: int32) -> int32:
            if n > 0:
                r: int32 = 1
            else:
                r: int32 = 2
            return r
        """,
        UnknownNameError,
        """\
        k.py:10:12: The name 'r' is not defined.
           10 |     return r
              |            ^
        note: k.py:9:9: r ended with the block it was defined in
            9 |         r: int32 = 2
              |         ^^^^^^^^^^^^
        help: declare r before the block, so that it lives on after it.""",
    ),
    (
        """
        def kernel():
            a: ConstExpr[int32]
        """,
        CompileTimeError,
        """\
        k.py:6:5: The ConstExpr a must be initialised.
            6 |     a: ConstExpr[int32]
              |     ^^^^^^^^^^^^^^^^^^^
        help: write a: ConstExpr[...] = expression.""",
    ),
    (
        """
        def kernel(n: int32, A: int32[8]):
            B: int32[n] = 0
        """,
        CompileTimeError,
        """\
        k.py:6:14: The type int32[n] must be known at compile time, but n is known only at run time.
            6 |     B: int32[n] = 0
              |              ^
        help: use numbers, captured constants, or parameters of the template.""",
    ),
    (
        """
        def kernel(A: int32[8]) -> int32:
            return A[8]
        """,
        ShapeMismatchError,
        """\
        k.py:6:14: Index out of range: 8 for a dimension of extent 8 of A.
            6 |     return A[8]
              |              ^
        note: on purpose: the published Allo compiles a constant subscript outside its array, and \
reads or writes what lies there.
        help: its elements are 0 to 7, or -8 to -1 from the end.""",
    ),
    (
        """
        def kernel(A: int32[8], B: int32[8]):
            for i in range(8):
                B[i] = A[i + 1]
        """,
        ShapeMismatchError,
        """\
        k.py:7:18: Index out of range: i + 1 reaches 8 for a dimension of extent 8 of A.
            7 |         B[i] = A[i + 1]
              |                  ^^^^^
        note: it takes 1 to 8, and is 8 at i = 7.
        help: shorten the loop, or guard the access with an if.""",
    ),
    (
        """
        def kernel(A: int32[8]):
            for i, j in allo.grid(4, 3):
                A[i - 2 * j] = 0
        """,
        ShapeMismatchError,
        """\
        k.py:7:11: Index out of range: i - 2 * j reaches -4 for a dimension of extent 8 of A.
            7 |         A[i - 2 * j] = 0
              |           ^^^^^^^^^
        note: it takes -4 to 3, and is -4 at i = 0, j = 2.
        help: shorten the loop, or guard the access with an if.""",
    ),
    (
        """
        def kernel(A: int32[8]):
            for i, j in allo.grid((1, 4), 3):
                A[i] = j
        """,
        UnsupportedSyntaxError,
        """\
        k.py:6:27: The loops of a grid count from 0, so each has one extent.
            6 |     for i, j in allo.grid((1, 4), 3):
              |                           ^^^^^^
        help: nest loops over range, which has a lower bound: for i in range(1, n):""",
    ),
    (
        """
        def kernel(A: int32[8]):
            B: int32[8] = 0
            def add(x: int32) -> int32:
                return x + B[0]
            A[0] = add(A[1])
        """,
        UnknownNameError,
        """\
        k.py:8:20: The name 'B' is not defined.
            8 |         return x + B[0]
              |                    ^
        note: k.py:6:5: B of the function around it
            6 |     B: int32[8] = 0
              |     ^^^^^^^^^^^^^^^
        help: a nested function does not see the variables around it: pass B as an argument.""",
    ),
    (
        """
        def kernel(x: int32 @ Stateful):
            pass
        """,
        TypeMismatchError,
        """\
        k.py:5:12: Argument 'x' cannot be Stateful; only a local variable can.
            5 | def kernel(x: int32 @ Stateful):
              |            ^^^^^^^^^^^^^^^^^^^
        help: declare the state as a local variable: t: int32 @ Stateful = 0.""",
    ),
    (
        """
        def kernel(x: int32) -> int32:
            s: int32 @ Stateful = x
            return s
        """,
        CompileTimeError,
        """\
        k.py:6:27: Stateful variable 's' must be initialized with a compile-time constant.
            6 |     s: int32 @ Stateful = x
              |                           ^
        help: start it at a number, a list or a captured NumPy array.""",
    ),
    (
        """
        def kernel(A: float32[4, 4], B: float32[4, 4]):
            C: float32[4, 4] = allo.matmul_error(A, B)
        """,
        UnsupportedSyntaxError,
        """\
        k.py:6:24: Unsupported function call allo.matmul_error: no such function is known here.
            6 |     C: float32[4, 4] = allo.matmul_error(A, B)
              |                        ^^^^^^^^^^^^^^^^^
        help: did you mean allo.matmul?""",
    ),
    (
        """
        def kernel(A: int32[4]):
            with allo.meta_else():
                A[0] = 1
        """,
        UnsupportedSyntaxError,
        """\
        k.py:6:5: Unmatched allo.meta_else(): no meta_if stands before it.
            6 |     with allo.meta_else():
              |     ^^^^^^^^^^^^^^^^^^^^^^
        help: meta_elif and meta_else follow a meta_if directly.""",
    ),
    (
        """
        def kernel(A: int32[4], B: int32[4]):
            def A(x: int32) -> int32:
                return x
        """,
        UnknownNameError,
        """\
        k.py:6:5: The function name 'A' is already in use.
            6 |     def A(x: int32) -> int32:
              |     ^^^^^^^^^^^^^^^^^^^^^^^^^
        help: choose another name.""",
    ),
    (
        """
        def kernel(A: int32[4]):
            def f(A: int32[4]) -> int32:
                return A[0]
        """,
        UnknownNameError,
        """\
        k.py:6:11: Argument name 'A' conflicts with an existing symbol of kernel.
            6 |     def f(A: int32[4]) -> int32:
              |           ^^^^^^^^^^^
        help: rename the argument: a nested function does not see outer variables.""",
    ),
    (
        """
        def kernel(A: int32[4, 4]) -> int32[3, 4]:
            B: int32[3, 4] = A
            return B
        """,
        ShapeMismatchError,
        """\
        k.py:6:5: Cannot assign: shapes [3, 4] and [4, 4] do not broadcast.
            6 |     B: int32[3, 4] = A
              |     ^^^^^^^^^^^^^^^^^^
        help: extents must be equal, or 1, counted from the last dimension.""",
    ),
    (
        """
        def kernel(A: int32[4]):
            x: int32 = 0
            x: float32 = 1.0
        """,
        TypeMismatchError,
        """\
        k.py:7:5: x is already declared as i32; it cannot become f32.
            7 |     x: float32 = 1.0
              |     ^
        note: k.py:6:5: the first declaration
            6 |     x: int32 = 0
              |     ^^^^^^^^^^^^
        help: choose another name.""",
    ),
    (
        """
        def kernel(x: Fixed(8, 3)) -> int32:
            return x[0]
        """,
        TypeMismatchError,
        """\
        k.py:6:14: A value of type fixed(8, 3) has no elements or bits to select.
            6 |     return x[0]
              |              ^
        help: only arrays have elements and only integers have bits; x.bitcast() is a Fixed's integer.""",
    ),
    (
        """
        def kernel(n):
            pass
        """,
        UnsupportedSyntaxError,
        """\
        k.py:5:12: Argument 'n' of kernel has no type.
            5 | def kernel(n):
              |            ^
        help: annotate it: n: int32 or n: float32[16, 16].""",
    ),
    (
        """
        def kernel(A: int32[4]):
            for x in A:
                A[0] = x
        """,
        UnsupportedSyntaxError,
        """\
        k.py:6:14: Unsupported for loop: cannot iterate over A.
            6 |     for x in A:
              |              ^
        help: use range(...), allo.grid(...) or allo.reduction(...).""",
    ),
    (
        """
        def kernel(A: int32[4]):
            for i in allo.grid(1, 4):
                A[i] = i
        """,
        UnsupportedSyntaxError,
        """\
        k.py:6:14: 2 extents cannot give 1 iterators.
            6 |     for i in allo.grid(1, 4):
              |              ^^^^^^^^^^^^^^^
        help: name one iterator for each extent; write a loop with a lower bound as range(low, high).""",
    ),
    (
        """
        def kernel(A: int32[4]) -> int32:
            for i in range(4):
                if A[i] > 0:
                    return A[i]
        """,
        TypeMismatchError,
        """\
        k.py:5:5: Missing return statement: kernel says it returns i32.
            5 | def kernel(A: int32[4]) -> int32:
              |     ^^^^^^
        help: return the value on the last line, or drop the `->`.""",
    ),
    (
        """
        def kernel(A: int32[4]) -> int32:
            return A[0]
            A[0] = 1
        """,
        UnsupportedSyntaxError,
        """\
        k.py:7:5: This statement can never run: the function has returned.
            7 |     A[0] = 1
              |     ^^^^^^^^
        help: return must be the last statement.""",
    ),
    (
        """
        def kernel(A: int32[4]):
            for i in range(4):
                with allo.meta_for(2) as j:
                    break
        """,
        UnsupportedSyntaxError,
        """\
        k.py:7:14: break, continue and return cannot leave a meta_for.
            7 |         with allo.meta_for(2) as j:
              |              ^^^^^^^^^^^^^^^^
        help: guard the statements with an if.""",
    ),
    (
        """
        def kernel(x: float32) -> float32:
            return allo.exp(x, x)
        """,
        TypeMismatchError,
        """\
        k.py:6:12: allo.exp() takes 1 argument, not 2.
            6 |     return allo.exp(x, x)
              |            ^^^^^^^^^^^^^^""",
    ),
    (
        """
        def kernel(x: int32) -> float32:
            return allo.exp(x)
        """,
        TypeMismatchError,
        """\
        k.py:6:12: allo.exp needs a float, not i32.
            6 |     return allo.exp(x)
              |            ^^^^^^^^^^^
        help: convert it first: float(x).""",
    ),
    (
        """
        import math
        def kernel(x: float32) -> float32:
            return math.sin(x)
        """,
        UnsupportedSyntaxError,
        """\
        k.py:7:12: Unsupported function call math.sin of a run-time value.
            7 |     return math.sin(x)
              |            ^^^^^^^^^^^
        help: use allo.sin.""",
    ),
    (
        """
        def f(x: int32, y: int32) -> int32:
            return x + y
        def kernel(x: int32) -> int32:
            return f(x)
        """,
        TypeMismatchError,
        """\
        k.py:8:12: f takes 2 arguments (x, y), not 1.
            8 |     return f(x)
              |            ^^^^""",
    ),
]


@pytest.mark.parametrize(("body", "kind", "message"), CASES, ids=range(len(CASES)))
def test_message(body, kind, message, tmp_path):
    assert failing(body, kind, tmp_path=tmp_path) == textwrap.dedent(message)


def test_a_template_bound_is_checked(tmp_path):
    text = failing(
        """
        def kernel[T: (float32, int32), N: int32](A: "T[N]"):
            pass
        """,
        CompileTimeError,
        tmp_path=tmp_path,
        instantiate=[UInt(8), 4],
    )
    assert text.splitlines()[0] == (
        "k.py:5:5: Cannot resolve type T with ui8: the parameter must be (float32, int32)."
    )


def test_a_template_needs_all_its_arguments(tmp_path):
    text = failing(
        """
        def kernel[T, N](A: "T[N]"):
            pass
        """,
        CompileTimeError,
        tmp_path=tmp_path,
    )
    assert text.splitlines()[0] == (
        "k.py:5:5: kernel has 2 template parameters (T, N), but 0 values were given."
    )


def test_an_unknown_type_inside_a_string_annotation_has_its_own_caret(tmp_path):
    text = failing(
        """
        def kernel[N](A: "Tpye[N]"):
            pass
        """,
        UnknownNameError,
        tmp_path=tmp_path,
        instantiate=[4],
    )
    assert text.splitlines()[:3] == [
        "k.py:5:19: Unsupported type `Tpye`.",
        '    5 | def kernel[N](A: "Tpye[N]"):',
        "      |                   ^^^^",
    ]


def test_columns_count_characters(tmp_path):
    text = failing(
        """
        def kernel(größe: int32) -> int32:
            return größe + unbekannt
        """,
        UnknownNameError,
        tmp_path=tmp_path,
    )
    assert text.splitlines()[2] == "      |                    ^^^^^^^^^"


def test_a_captured_object_of_no_use(tmp_path):
    text = failing(
        """
        W = {"a": 1}
        def kernel(x: int32) -> int32:
            return x + W
        """,
        TypeMismatchError,
        tmp_path=tmp_path,
    )
    assert text.splitlines()[0] == "k.py:7:16: Unsupported global variable: W is dict {'a': 1}."


def test_a_captured_list_needs_a_type(tmp_path):
    text = failing(
        """
        W = [0.5, 0.25]
        def kernel(k: int32) -> float64:
            return W[k]
        """,
        TypeMismatchError,
        tmp_path=tmp_path,
    )
    assert text.splitlines()[0] == "k.py:7:12: Unsupported global variable: W is list [0.5, 0.25]."
    assert text.splitlines()[-1] == "help: give it a type: 't: T[…] = W' declares a constant array."


def test_a_text_that_is_not_python():
    with pytest.raises(FrontendError, match="The source text is not Python: invalid syntax"):
        build_module("def f(x: int32: pass", global_vars={})


def test_unknown_rule_sets_are_refused():
    def kernel(x: int32) -> int32:
        return x

    with pytest.raises(FrontendError, match=re.escape("no typing rules called 'loose'")):
        build_module(kernel, typing_rules="loose")


def test_a_written_constant_array_is_refused(tmp_path):
    body = """
        import numpy as np
        W = np.zeros((4,), dtype=np.int32)
        def kernel(x: int32) -> int32:
            W[0] = x
            return W[0]
        """
    text = failing(body, TypeMismatchError, tmp_path=tmp_path)
    assert text.splitlines()[0] == "k.py:8:5: W cannot be stored into."


def test_the_traceback_of_a_mistake_ends_at_the_user_s_line():
    def kernel(x: int32) -> int32:
        return x + yy

    with pytest.raises(UnknownNameError, match="The name 'yy' is not defined") as caught:
        build_module(kernel)
    files = [entry.path.name for entry in caught.traceback]
    assert files[0] == "test_errors.py"
    assert not {"expressions.py", "statements.py", "functions.py"} & set(map(str, files))
