"""Random integer expressions: the CPU build against an exact model on Python's integers."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allo
from allo.dialects.core.integers import truncating_division
from allo.dialects.types import Int, UInt
from allo.frontend.rules.integers import wrap
from allo.frontend.rules.typing import DEFAULT

VECTORS = 12
COMPARISONS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
ARITHMETIC = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "/": truncating_division,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a - b * truncating_division(a, b),
    "min": min,
    "max": max,
}
DIVISIONS = {"/", "//", "%"}  # by zero they have no value: test_division_by_every_divisor
MAX_WIDTH = 100


class Node:
    """An expression: its text, its type, and its exact value for given leaves."""

    def __init__(self, text, dtype, value):
        self.text, self.dtype, self.value = text, dtype, value


def random_type(rng):
    kind = rng.choice((Int, UInt))
    return kind(rng.choice((2, 3, 5, 8, 13, 16, 31, 32)))


def leaf(rng, leaves):
    name = rng.choice(sorted(leaves))
    dtype = leaves[name]
    return Node(name, dtype, lambda env, n=name: env[n])


def tree(rng, leaves, depth):
    if depth == 0:
        return leaf(rng, leaves)
    left, right = tree(rng, leaves, depth - 1), tree(rng, leaves, rng.randrange(depth))
    choice = rng.random()
    if choice < 0.7:
        return arithmetic(rng, left, right)
    if choice < 0.8:
        return comparison(rng, left, right)
    if choice < 0.9:
        return selection(rng, left, right)
    return unary(rng, left)


def arithmetic(rng, left, right):
    op = rng.choice(sorted(set(ARITHMETIC) - DIVISIONS))
    dtype = DEFAULT.result(op, left.dtype, right.dtype)
    if dtype.bits > MAX_WIDTH:
        return left
    compute = ARITHMETIC[op]
    text = (
        f"{op}({left.text}, {right.text})"
        if op in ("min", "max")
        else (f"({left.text} {op} {right.text})")
    )
    return Node(text, dtype, lambda env: wrap(compute(left.value(env), right.value(env)), dtype))


def comparison(rng, left, right):
    op = rng.choice(sorted(COMPARISONS))
    compute = COMPARISONS[op]
    return Node(
        f"({left.text} {op} {right.text})",
        UInt(1),
        lambda env: int(compute(left.value(env), right.value(env))),
    )


def selection(rng, left, right):
    dtype = DEFAULT.result("select", left.dtype, right.dtype)
    return Node(
        f"({left.text} if {left.text} > {right.text} else {right.text})",
        dtype,
        lambda env: max(left.value(env), right.value(env)),
    )


def unary(rng, operand):
    op = rng.choice("-~")
    dtype = DEFAULT.unary(operand.dtype)
    if dtype.bits == 1:
        return operand
    sign = {"-": lambda v: -v, "~": lambda v: ~v}[op]
    return Node(f"({op}{operand.text})", dtype, lambda env: wrap(sign(operand.value(env)), dtype))


def renamed(text):
    return re.sub(r"\b([abcd])\b", r"v\1", text)


def type_text(dtype):
    return f"{type(dtype).__name__}({dtype.bits})"


def numpy_type(dtype):
    width = next(w for w in (8, 16, 32, 64) if w >= dtype.bits)
    return np.dtype(f"{'u' if isinstance(dtype, UInt) else ''}int{width}")


def random_value(rng, dtype):
    low = -(1 << (dtype.bits - 1)) if isinstance(dtype, Int) else 0
    high = low + (1 << dtype.bits) - 1
    return rng.choice((low, high, 0, min(1, high), rng.randint(low, high), rng.randint(low, high)))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_random_expressions(seed):
    rng = random.Random(seed)
    leaves = {name: random_type(rng) for name in "abcd"}
    expressions = [tree(rng, leaves, rng.randint(1, 4)) for _ in range(5)]
    arguments = ", ".join(f"{n}: {type_text(t)}[{VECTORS}]" for n, t in leaves.items())
    text = [f"def kernel({arguments}, out: Int(64)[{len(expressions)}, {VECTORS}]):"]
    text.append(f"    for i in range({VECTORS}):")
    for name in leaves:
        text.append(f"        v{name}: {type_text(leaves[name])} = {name}[i]")
    for row, expression in enumerate(expressions):
        text.append(f"        out[{row}, i] = {renamed(expression.text)}")
    source = "\n".join(text) + "\n"
    vectors = [{n: random_value(rng, t) for n, t in leaves.items()} for _ in range(VECTORS)]
    arrays = [np.array([v[n] for v in vectors], dtype=numpy_type(t)) for n, t in leaves.items()]
    out = np.zeros((len(expressions), VECTORS), np.int64)
    allo.customize(source, global_vars={"Int": Int, "UInt": UInt}).build()(*arrays, out)
    expected = [[wrap(e.value(v), Int(64)) for v in vectors] for e in expressions]
    np.testing.assert_array_equal(out, np.array(expected, dtype=np.int64), err_msg=source)


@pytest.mark.parametrize("left", [Int(8), UInt(8), Int(5), UInt(3)])
@pytest.mark.parametrize("right", [Int(8), UInt(8), Int(4), UInt(2)])
def test_division_by_every_divisor(left, right):
    def values(dtype):
        low = -(1 << (dtype.bits - 1)) if isinstance(dtype, Int) else 0
        return range(low, low + (1 << dtype.bits))

    pairs = [(a, b) for a in values(left) for b in values(right) if b]
    n = len(pairs)
    source = (
        f"def kernel(a: {type_text(left)}[{n}], b: {type_text(right)}[{n}], "
        f"out: Int(32)[3, {n}]):\n"
        f"    for i in range({n}):\n"
        "        out[0, i] = a[i] / b[i]\n"
        "        out[1, i] = a[i] // b[i]\n"
        "        out[2, i] = a[i] % b[i]\n"
    )
    a = np.array([p[0] for p in pairs], dtype=numpy_type(left))
    b = np.array([p[1] for p in pairs], dtype=numpy_type(right))
    out = np.zeros((3, n), np.int32)
    allo.customize(source, global_vars={"Int": Int, "UInt": UInt}).build()(a, b, out)
    quotient = DEFAULT.result("/", left, right)
    for row, op in enumerate(("/", "//", "%")):
        dtype = DEFAULT.result(op, left, right) if op == "%" else quotient
        expected = [wrap(ARITHMETIC[op](x, y), dtype) for x, y in pairs]
        np.testing.assert_array_equal(out[row], expected, err_msg=op)


@pytest.mark.parametrize("value", [Int(8), UInt(8), Int(13)])
@pytest.mark.parametrize("amount", [UInt(3), UInt(5), Int(8)])
def test_shifts_by_every_amount(value, amount):
    def values(dtype):
        low = -(1 << (dtype.bits - 1)) if isinstance(dtype, Int) else 0
        return range(low, low + (1 << dtype.bits))

    amounts = [k for k in values(amount) if k >= 0]
    pairs = [(v, k) for v in list(values(value))[::7] for k in amounts]
    n = len(pairs)
    source = (
        f"def kernel(a: {type_text(value)}[{n}], k: {type_text(amount)}[{n}], "
        f"out: Int(32)[2, {n}]):\n"
        f"    for i in range({n}):\n"
        "        out[0, i] = a[i] << k[i]\n"
        "        out[1, i] = a[i] >> k[i]\n"
    )
    a = np.array([p[0] for p in pairs], dtype=numpy_type(value))
    k = np.array([p[1] for p in pairs], dtype=numpy_type(amount))
    out = np.zeros((2, n), np.int32)
    allo.customize(source, global_vars={"Int": Int, "UInt": UInt}).build()(a, k, out)
    np.testing.assert_array_equal(out[0], [wrap(v << s, value) for v, s in pairs])
    np.testing.assert_array_equal(out[1], [v >> s for v, s in pairs])
