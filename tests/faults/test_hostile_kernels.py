"""Kernels nobody should write: each compiles, or is refused by a named error at a line of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import AlloError, InternalError
from allo.ir.types import Fixed, Int, Stream, Struct, UInt, float32, index, int32

NAMES: dict[str, Any] = {
    "allo": allo,
    "Fixed": Fixed,
    "Int": Int,
    "Stream": Stream,
    "Struct": Struct,
    "UInt": UInt,
    "float32": float32,
    "index": index,
    "int32": int32,
    "np": np,
    "text": "text",
    "none": None,
    "ragged": [[1], [1, 2]],
    "nan": float("nan"),
    "inf": float("inf"),
    "huge": 10**400,
    "objects": np.array([object(), object()]),
    "strings": np.array(["x", "y"]),
    "complexes": np.array([1j, 2j]),
    "records": np.zeros(2, [("a", int)]),
    "masked": np.ma.masked_array([1, 2], [0, 1]),
    "cube": np.zeros((2, 2, 2), np.int32),
    "nothing": np.zeros(0, np.int32),
    "Broken": type("Broken", (), {"__getattr__": lambda self, name: 1 / 0})(),
}

INITIALISERS = (
    "[1, max]", "['x', 'y']", "[1e400, 1]", "[1j, 2]", "[None, 1]", "[[1], [1, 2]]", "[1]", "[]",
    "[1, 2, 3]", "text", "none", "ragged", "objects", "strings", "complexes", "records", "masked",
    "cube", "nothing", "nan", "inf", "huge", "[huge, 1]", "[inf, inf]", "{1: 2}", "{1, 2}", "(1, 2)",
    "max", "allo", "int32", "lambda: 1", "b'xy'", "...", "np", "[int32, int32]", "Broken", "range(2)",
    "np.zeros(2)", "np.zeros((1, 2))", "undefined", "[undefined, 1]", "1 / 0", "[1 / 0, 1]", "2 ** -1",
    "[x for x in 5]", "'x' * 10", "-'x'", "not []", "[1, 2] + [3]", "1 if none else 2",
)  # fmt: skip

STATEMENTS = (
    "for i in range(10**30): A[0] += 1",
    "for i in range(-(10**30), 0): A[0] += 1",
    "for i in range(0, 10**30, 10**29): A[0] += 1",
    "for i in range(0, 10, 0): A[0] += 1",
    "for i in range(0, 10, 10**30): A[0] += 1",
    "for i in range(1.5): A[0] += 1",
    "for i in range('x'): A[0] += 1",
    "for i in range(none): A[0] += 1",
    "for i in range(): A[0] += 1",
    "for i in range(1, 2, 3, 4): A[0] += 1",
    "for i in range(stop=3): A[0] += 1",
    "for i in 5: A[0] += 1",
    "for i in A: A[0] += 1",
    "for i in [1, 2]: A[0] += i",
    "for i, j in range(3): A[0] += 1",
    "for i in allo.grid(2, 2): A[0] += 1",
    "for i, j in allo.grid(2): A[0] += 1",
    "for i, j in allo.grid(2, 'x'): A[0] += 1",
    "for i, j in allo.grid(10**30, 2): A[0] += 1",
    "A[10**30] = 1",
    "A[-(10**30)] = 1",
    "A['x'] = 1",
    "A[1.5] = 1",
    "A[none] = 1",
    "A[0, 0] = 1",
    "A[()] = 1",
    "A[...] = 1",
    "A[0:2:0] = 1",
    "A[0:'x'] = 1",
    "A[0][0][0] = 1",
    "A[0][huge:0] = 1",
    "A[0] = 'x'",
    "A[0] = none",
    "A[0] = huge",
    "A[0] = 1e400",
    "A[0] = nan",
    "A[0] = 1j",
    "A[0] = max",
    "A[0] = max()",
    "A[0] = max(1)",
    "A[0] = max(A)",
    "A[0] = abs()",
    "A[0] = len(5)",
    "A[0] = text[0]",
    "A[0] = ragged",
    "A[0] = ragged[5]",
    "A[0] = A",
    "A[0] = A[0] << huge",
    "A[0] = 1 << huge",
    "A[0] = A[0] << -1",
    "A[0] = A[0] ** huge",
    "A[0] = 2 ** huge",
    "A[0] = A[0] @ A[1]",
    "A[0] = A[0] if 'x' else 1",
    "A[0] = A[0] < 'x'",
    "A[0] = int('x')",
    "A[0] = float('x')",
    "A[0] = int32('x')",
    "A[0] = allo.exp('x')",
    "A[0] = allo.exp(A)",
    "A[0] = np.sin(A[0])",
    "A[0] = Broken.x",
    "A[0] = Broken + 1",
    "A[0] = undefined(1)",
    "A[0] = print",
    "A = 1",
    "A.x = 1",
    "A += 'x'",
    "del A",
    "x: Int(10**30) = 1",
    "x: Int(-1) = 1",
    "x: Int('x') = 1",
    "x: Int(1.5) = 1",
    "x: Int = 1",
    "x: int32[10**30] = 0",
    "x: int32[0] = 0",
    "x: int32[-1] = 0",
    "x: int32[1.5] = 0",
    "x: int32['x'] = 0",
    "x: int32[none] = 0",
    "x: int32[2][2] = 0",
    "x: Fixed(4, 99) = 1",
    "x: Fixed(300, 299) = 1",
    "x: Struct({}) = 1",
    "x: Struct({'a': 5}) = 1",
    "x: Struct(5) = 1",
    "x: Stream[int32] = 1",
    "x: Stream[int32, -1]",
    "x: Stream[int32, 'x']",
    "x: Stream[5, 2]",
    "x: 'Int(' = 1",
    "x: 5 = 1",
    "x: text = 1",
    "x: Broken = 1",
    "assert A",
    "raise A",
    "return A",
    "return",
    "yield A",
    "import os",
    "global A",
    "with A: pass",
    "while A: A[0] = 1",
    "while 'x': A[0] = 1",
    "while none: A[0] = 1",
    "if A: A[0] = 1",
    "if text: A[0] = 1",
    "f'{A}'",
    "lambda: A",
    "A[:] = A[::-1]",
    "A[:] = cube",
    "A[:] = 'x'",
    "try: pass\n    except: pass",
    "match A:\n        case 1: pass",
    "def inner(): A[0] = 1\n    inner()",
    "class C: pass",
    "B, C = A",
    "B = C = D = 1",
    "(B := 1)",
    "A[0] = [1, 2]",
    "A[0] = (" + "1 + " * 3000 + "1)",
    "A[0] = " + "(" * 90 + "1" + ")" * 90,
    "A[0] = " + "-" * 2000 + "1",
)


def outcome(text: str) -> None:
    """Compile, build and run; a named error that is no fault of Allo's is as good."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            built = allo.customize(text, global_vars=NAMES).build()
            if "range(10" not in text and "range(-" not in text and "while" not in text:
                built(np.array([1, 2], np.int32))
        except AlloError as error:
            assert not isinstance(error, InternalError), f"{text[:200]}\n{error}"
            assert error.message.endswith((".", ".)", ":", "?"))


@pytest.mark.parametrize("declared", ["int32", "float32", "Fixed(8, 3)", "Int(100)"])
def test_initialisers(declared: str) -> None:
    for text in INITIALISERS:
        for kind in (f"{declared}[2]", declared):
            outcome(f"def f(A: int32[2]):\n    x: {kind} = {text}\n    A[0] = 1\n")


@pytest.mark.parametrize("text", STATEMENTS, ids=lambda text: text[:40])
def test_statements(text: str) -> None:
    outcome(f"def f(A: int32[2]):\n    {text}\n")


@pytest.mark.parametrize(
    "text",
    [
        "", "x = 1", "def f(:", "def f(): pass", "def f(A): A[0] = 1", "def f(A: int32[2], A2=5): pass",
        "def f(*A: int32): pass", "def f(**A: int32): pass", "def f(A: int32[2]) -> text: return A",
        "def f(A: int32[2]) -> int32: pass", "def f(A: Int(10**30)[2]): A[0] = 1",
        "def f[T](A: T[2]): A[0] = 1", "def f(A: int32[2]):\n\tA[0] = 1\n        A[1] = 2", "\0",
        "async def f(A: int32[2]): A[0] = 1", "def f(A: int32[2]): return f(A)", "class f: pass",
    ],
    ids=range(17),
)  # fmt: skip
def test_definitions(text: str) -> None:
    outcome(text)


@pytest.mark.parametrize(
    "given", [None, 5, "x", b"x", object(), max, int, allo, print, np.sin, type, [], lambda: 1],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_no_function(given: Any) -> None:
    with pytest.raises(AlloError) as caught:
        allo.customize(given)
    assert not isinstance(caught.value, InternalError)


def test_a_number_that_fits_no_index_is_shown_with_its_line() -> None:
    with pytest.raises(AlloError) as caught:
        allo.customize(f"def f(A: int32[2]):\n    {STATEMENTS[0]}\n", global_vars=NAMES)
    assert "f(A" not in caught.value.message
    assert caught.value.place is not None
    assert caught.value.place.line == 2
    assert STATEMENTS[0] in str(caught.value)


HANDED: dict[str, Any] = {
    "region": lambda: df.region()(5),
    "kernel": lambda: df.kernel(mapping=[1], args=[])(None),
    "not a region": lambda: df.customize(None),
    "df.build": lambda: df.build(5),
    "text of no IR": lambda: allo.LLVMModule("garbage", "f"),
    "HLS of no IR": lambda: allo.HLSModule("garbage", "f"),
    "no module": lambda: allo.LLVMModule(5, "f"),
    "no function": lambda: allo.LLVMModule("module {}", "f"),
    "layout": lambda: allo.Layout(5),
    "layout of numbers": lambda: allo.Layout([5]),
    "memory": lambda: allo.Memory(5),
    "memory's latency": lambda: allo.Memory(latency="x"),
    "external": lambda: allo.IPModule(5, 6),
    "width": lambda: Int("x"),
    "fraction": lambda: Fixed(4, -1),
    "stream": lambda: Stream[5, 2],
    "struct": lambda: Struct({"a": 5}),
    "no struct": lambda: Struct(5),
    "constant": lambda: allo.ir.types.ConstExpr[5],
    "context": lambda: allo.customize("def f(A: int32): pass", context=5),
}


@pytest.mark.parametrize("make", HANDED.values(), ids=HANDED)
def test_what_is_handed_to_the_language(make) -> None:
    with pytest.raises(AlloError) as caught:
        make()
    assert not isinstance(caught.value, InternalError)
    assert caught.value.message


def test_an_external_array_that_is_not_there() -> None:
    s = allo.customize("def f(Apple: int32[2]): Apple[0] = 1", global_vars=NAMES)
    with pytest.raises(AlloError) as caught:
        s.build(target="verilog", simulator="jit", external=["Aple"])
    assert str(caught.value) == (
        "external= names 'Aple', which is no array argument of f.\n"
        "help: did you mean 'Apple'? its arrays: Apple."
    )
