"""Kernels built for the CPU against the same function run by Python, or a NumPy model."""

import numpy as np
import pytest

import allo
from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.errors import TypeMismatchError
from allo.ir.types import (
    ConstExpr,
    Int,
    Stateful,
    UInt,
    float32,
    float64,
    index,
    int8,
    int32,
    int64,
    uint8,
)

RNG = np.random.default_rng(7)
WEIGHTS = np.arange(12).reshape(3, 4).astype(np.int32)
SIZE = 5


def ints(*shape, low=-50, high=50, dtype=np.int32):
    return RNG.integers(low, high, shape).astype(dtype)


def floats(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def run(kernel, *args, **kw):
    """What the built kernel returns, or its arrays when it returns nothing."""
    result, arrays = run_in_place(kernel, *args, **kw)
    return arrays if result is None else result


def run_in_place(kernel, *args, **kw):
    """What the built kernel returns, and copies of the array arguments as it leaves them."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    result = allo.customize(kernel, **kw).build()(*args)
    return result, [a for a in args if isinstance(a, np.ndarray)]


def check(kernel, *args, model=None, exact=True, **kw):
    """The built kernel equals ``model`` (the kernel itself by default), element for element.

    A model leaves its arguments as the kernel should: they are compared too.
    """
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    expected = (model or kernel)(*copies)
    got, left = run_in_place(kernel, *args, **kw)
    got = [] if got is None else list(got) if isinstance(got, (tuple, list)) else [got]
    expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
    got, expected = [*got, *left], [e for e in expected if e is not None]
    expected += [c for c in copies if isinstance(c, np.ndarray)]
    for g, e in zip(got, expected, strict=True):
        if exact:
            np.testing.assert_array_equal(np.asarray(g), np.asarray(e))
        else:
            np.testing.assert_allclose(np.asarray(g), np.asarray(e), rtol=2e-6, atol=1e-6)


def test_loops_bounded_by_a_scalar_argument_and_a_ternary():
    def kernel(A: int32[8], n: int32) -> int32[8]:
        B: int32[8] = 0
        for i in range(n):
            B[i] = A[i] if A[i] > 0 else -A[i]
        return B

    a = ints(8)
    for n in (0, 1, 6, 8):
        expected = np.zeros(8, np.int32)
        expected[:n] = np.abs(a[:n])
        np.testing.assert_array_equal(run(kernel, a, n), expected)
    assert "affine.for" in str(allo.customize(kernel).module)
    assert "scf.for" not in str(allo.customize(kernel).module)


def test_while_with_a_conjunction():
    def kernel(A: int32[9]) -> int32:
        s: int32 = 0
        i: int32 = 0
        while i < 8 and A[i] != 1000:
            s += A[i]
            i += 1
        return s

    check(kernel, ints(9))
    stopped = ints(9)
    stopped[3] = 1000
    check(kernel, stopped)


def test_counting_down():
    def kernel(A: int32[8]) -> int32[8]:
        B: int32[8] = 0
        for i in range(7, -1, -1):
            B[7 - i] = A[i]
        for j in range(6, 0, -2):
            B[j] += j
        return B

    def model(A):
        B = A[::-1].copy()
        for j in range(6, 0, -2):
            B[j] += j
        return B

    check(kernel, ints(8), model=model)


@pytest.mark.parametrize("limit", [-60, 0, 20, 60])
def test_break_and_continue(limit):
    def kernel(A: int32[8], limit: int32) -> int32:
        s: int32 = 0
        for i in range(8):
            if A[i] < -30:
                continue
            if A[i] > limit:
                break
            s += A[i]
        k: int32 = 0
        while k < 100:
            k += 1
            if k == 5:
                continue
            if k > 10:
                break
            s += k
        return s

    check(kernel, ints(8), limit)


@pytest.mark.parametrize("wanted", [-1, 0, 3, 7, 100])
def test_return_under_a_condition_and_from_a_loop(wanted):
    def find(A: int32[8], x: int32) -> (int32, int32):
        if x < 0:
            return -1, 0
        seen: int32 = 0
        for i in range(8):
            k: int32 = 0
            while k < 2:
                if A[i] == x:
                    return i, seen
                k += 1
            seen += 1
        if x > 50:
            return 50, seen
        return 99, seen

    def kernel(A: int32[8], x: int32) -> int32:
        a, b = find(A, x)
        return a * 100 + b

    def model(A, x):
        if x < 0:
            return -100
        if x in A:
            return list(A).index(x) * 101
        return (50 if x > 50 else 99) * 100 + 8

    check(kernel, np.array([5, 3, 9, 7, 3, 1, 2, 4], np.int32), wanted, model=model)


def test_a_guarded_access_may_look_out_of_range():
    def kernel(A: int32[8], B: int32[8]):
        for i in range(8):
            left: int32 = A[i - 1] if i > 0 else 0
            if i < 7:
                B[i] = left + A[i + 1]
            else:
                B[i] = left
        for i in range(7):
            B[i] += A[i + 1]

    def model(A, B):
        B[1:] = A[:-1]
        B[0] = 0
        B[:-1] += 2 * A[1:]

    check(kernel, ints(8), ints(8), model=model)


def test_both_branches_may_return_arrays():
    def kernel(A: int32[4], up: int32) -> int32[4]:
        if up > 0:
            return A + 1
        return A - 1

    a = ints(4)
    np.testing.assert_array_equal(run(kernel, a, 1), a + 1)
    np.testing.assert_array_equal(run(kernel, a, 0), a - 1)


def test_a_break_in_a_meta_branch_guards_what_follows():
    def kernel(A: int32[8]) -> int32:
        s: int32 = 0
        for i in range(8):
            with allo.meta_if(SIZE == 5):
                if A[i] > 20:
                    break
            s += A[i]
        return s

    def model(A):
        s = 0
        for x in A:
            if x > 20:
                break
            s += x
        return s

    check(kernel, ints(8), model=model)


def test_slices_views_and_copies():
    def kernel(A: int32[3, 4]) -> int32[3, 4]:
        B: int32[3, 4] = WEIGHTS
        C: int32[3, 4] = A + B * 2
        C[0] = A[1]
        C[:, 1] = 7
        C[1:3, 2:4] = A[0:2, 0:2]
        C[2, ::2] = A[0, 1:3]
        C[-1, -1] += 3
        B[0, 0] = 5
        D: int32[3, 4] = C - B
        return D

    def model(A):
        B = WEIGHTS.copy()
        C = A + B * 2
        C[0], C[:, 1] = A[1], 7
        C[1:3, 2:4] = A[0:2, 0:2]
        C[2, ::2] = A[0, 1:3]
        C[-1, -1] += 3
        B[0, 0] = 5
        return C - B

    before = WEIGHTS.copy()
    check(kernel, ints(3, 4), model=model)
    np.testing.assert_array_equal(WEIGHTS, before)


def test_an_overlapping_slice_store_reads_before_it_writes():
    def kernel(A: int32[8]) -> int32[8]:
        A[1:8] = A[0:7]
        B: int32[8] = A
        return B

    def shifted(A):
        A[1:] = A[:7].copy()
        return A

    check(kernel, ints(8), model=shifted)


def test_a_declared_copy_is_no_alias():
    def kernel(A: int32[4]) -> int32[4]:
        B: int32[4] = A
        A[0] = 100
        return B

    a = ints(4)
    np.testing.assert_array_equal(run(kernel, a), a)


def test_bits_read_and_written():
    def kernel(x: int32) -> int32:
        y: int32 = 0
        y[0:4] = x[4:8]
        y[31] = x[0]
        z: int32 = y.reverse()
        w: int32 = 0
        for i in range(32):
            w[i] = z[31 - i]
        return w

    for x in (0x12345679, -1, 0, 1 << 30):
        v = ((x >> 4) & 15) | ((x & 1) << 31)
        assert run(kernel, x) == v - ((v >> 31) << 32)


def test_bits_of_array_elements_and_symbolic_ranges():
    def kernel(A: UInt(32)[4], B: UInt(8)[16]):
        for i in range(4):
            for j in range(4):
                B[i * 4 + j] = A[i][j * 8 : (j + 1) * 8]
        for i in range(4):
            A[i][0:2] = 3
            A[i][31] = 0

    a = RNG.integers(0, 1 << 32, 4).astype(np.uint32)
    b = np.zeros(16, np.uint8)
    got_a, got_b = run(kernel, a, b)
    np.testing.assert_array_equal(got_b, a.view(np.uint8))
    np.testing.assert_array_equal(got_a, (a | 3) & 0x7FFFFFFF)


def test_bitcast_keeps_the_bits():
    def kernel(x: float32) -> float32:
        y: UInt(32) = x.bitcast()
        y[31] = 1
        z: float32 = y.bitcast()
        return z

    assert run(kernel, 1.5) == -1.5


def test_templates_bind_types_and_sizes():
    def kernel[T, N: int32](A: "T[N]", B: "T[N]") -> "T[N]":
        C: T[N]
        for i in range(N):
            C[i] = A[i] + B[i]
        return C

    for dtype, numpy_dtype in ((int32, np.int32), (float32, np.float32), (int64, np.int64)):
        a, b = ints(6, dtype=numpy_dtype), ints(6, dtype=numpy_dtype)
        np.testing.assert_array_equal(run(kernel, a, b, instantiate=[dtype, 6]), a + b)


def test_instances_of_a_template_have_names_of_their_own():
    def scale[K](x: int32) -> int32:
        y: int32 = x * K
        return y

    def kernel(x: int32) -> int32:
        a: int32 = scale[2](x)
        b: int32 = scale[3](x)
        c: int32 = scale[2](b)
        d: int32 = scale[5, "five"](x)
        return a + b + c + d

    s = allo.customize(kernel)
    assert list(s.func_args) == ["scale", "scale_1", "scale_five", "kernel"]
    assert s.build()(10) == 20 + 30 + 60 + 50


def test_a_function_may_return_several_values():
    def sum_and_difference(a: int32, b: int32) -> (int32, int32):
        return a + b, a - b

    def kernel(A: int32[8]) -> int32[8]:
        B: int32[8] = 0
        for i in range(4):
            B[i], B[i + 4] = sum_and_difference(A[i], b=A[i + 4])
        return B

    check(
        kernel,
        ints(8),
        model=lambda A: np.concatenate([A[:4] + A[4:], A[:4] - A[4:]]),
    )


def test_compile_time_branches_and_repetition():
    def half(n):
        return n // 2

    def kernel(A: int32[4]) -> int32[4]:
        T: ConstExpr[index] = half(SIZE * 2) - 1
        B: int32[T] = 0
        with allo.meta_for(T) as i:
            with allo.meta_if(i % 2 == 0):
                B[i] = A[i]
            with allo.meta_elif(i == 3):
                B[i] = -A[i]
            with allo.meta_else():
                B[i] = 1
        return B

    check(kernel, ints(4), model=lambda A: np.array([A[0], 1, A[2], -A[3]]))
    assert "affine.for" not in str(allo.customize(kernel).module)


def test_items_of_one_with_stand_inside_each_other():
    def kernel(A: int32[3, 4]) -> int32[3, 4]:
        B: int32[3, 4] = 0
        with allo.meta_for(3) as i, allo.meta_for(i, 4) as j, allo.meta_if((i + j) % 2 == 0):
            B[i, j] = A[i, j] + i
        return B

    def model(A):
        B = np.zeros_like(A)
        for i in range(3):
            for j in range(i, 4):
                B[i, j] = A[i, j] + i if (i + j) % 2 == 0 else 0
        return B

    check(kernel, ints(3, 4), model=model)
    a = ints(3, 4)
    np.testing.assert_array_equal(allo.interpret(kernel)(a), model(a))
    assert "affine.for" not in str(allo.customize(kernel).module)


def test_late_binding_of_sizes():
    def kernel(A: "int32[M]") -> "int32[M]":
        B: int32[M]
        for i in range(M):
            B[i] = A[i] + M
        return B

    for M in (3, 5):
        a = ints(M)
        np.testing.assert_array_equal(run(kernel, a), a + M)


def test_stateful_variables_live_between_calls():
    def count(x: int32) -> int32:
        value: int32 @ Stateful = 5
        value += x
        return value

    def kernel(x: int32) -> int32:
        value: int32[2] @ Stateful = [1, 2]
        value[0] += 1
        return count(x) + value[0] * 1000 + value[1] * 100000

    s = allo.customize(kernel)
    module = s.build()
    assert [module(3), module(3)] == [202008, 203011]
    assert s.build()(3) == 202008
    assert "__stateful_count_value_1" in str(s.module)
    assert "__stateful_kernel_value_1" in str(s.module)


def test_scalar_mathematics():
    def kernel(A: float32[8]) -> float32[8]:
        B: float32[8]
        for i in range(8):
            B[i] = allo.exp(A[i]) + allo.sqrt(allo.abs(A[i])) * max(A[i], 0.5, 1)
        return B

    check(
        kernel,
        floats(8),
        model=lambda A: np.exp(A) + np.sqrt(np.abs(A)) * np.maximum(A, 1),
        exact=False,
    )


def test_data_dependent_bounds_and_values_of_iterators():
    def kernel(A: int32[8]) -> int32:
        s: int32 = 0
        for i in range(8):
            for j in range(A[i] % 3, 4):
                s += i * j - j // 2 + (i + 1) * 2
            for j in range(max(0, i - 2), min(8, i + 3)):
                s += A[j] * i
        return s

    check(kernel, ints(8, low=0))
    text = str(allo.customize(kernel).module)
    assert text.count("scf.for") == 1


def test_views_pass_by_reference():
    def row(X: int32[4], y: int32) -> int32[4]:
        Z: int32[4]
        for i in range(4):
            Z[i] = X[i] * y
        X[0] = 9
        return Z

    def kernel(A: int32[3, 4]) -> int32[3, 4]:
        B: int32[3, 4]
        for i in range(3):
            B[i] = row(A[i], i)
        for i in range(3):
            B[i, 3] += A[i, 0]
        return B

    def model(A):
        B = A * np.arange(3)[:, None]
        B[:, 3] += 9
        A[:, 0] = 9
        return B

    check(kernel, ints(3, 4), model=model)


def test_mixed_integer_widths_have_exact_values():
    def kernel(A: int8[64], B: uint8[64]) -> int32[64]:
        C: int32[64]
        for i in range(64):
            less: int32 = 1 if A[i] < B[i] else 0
            C[i] = (A[i] + B[i]) * 3 - (A[i] // 3) * 2 + (A[i] % 5) + less + (~A[i] & 0xF)
        return C

    def model(A, B):
        A, B = A.astype(int), B.astype(int)
        return (A + B) * 3 - (A // 3) * 2 + np.fmod(A, 5) + (A < B) + (~A & 15)

    check(
        kernel,
        ints(64, low=-128, high=128, dtype=np.int8),
        ints(64, low=0, high=256, dtype=np.uint8),
        model=model,
    )


def test_a_float_literal_beside_float64_keeps_its_bits():
    def kernel(A: float64[4]) -> float64[4]:
        B: float64[4]
        for i in range(4):
            B[i] = A[i] * 0.1 + 1
        return B

    check(kernel, floats(4, dtype=np.float64), model=lambda A: A * 0.1 + 1)


def test_functions_and_complements_of_literals_are_exact():
    """ "An expression of literals has its exact value", and takes the type it is assigned to."""

    def largest() -> UInt(57):
        return max(1e3, 203332256749)

    def smallest() -> float64:
        return min(0.1, 7)

    def size() -> float64:
        return abs(-0.1)

    def whole() -> int64:
        return abs(-2147483648)

    expected = {largest: 203332256749, smallest: 0.1, size: 0.1, whole: 2147483648}
    for kernel, value in expected.items():
        assert allo.customize(kernel).build()() == value
        assert allo.interpret(kernel)() == value

    def shifted() -> int64:
        return ~1 << 34

    assert allo.customize(shifted).build()() == allo.interpret(shifted)() == ~1 << 34

    def quotient() -> float32:
        return 1.0 / abs(-0.0)

    assert allo.customize(quotient).build()() == allo.interpret(quotient)() == np.inf


def test_wide_literals_keep_their_value():
    def kernel() -> int64:
        x: int64 = 1 << 40
        y: int64 = 0x7FFFFFFFFF
        return x + y

    assert run(kernel) == (1 << 40) + 0x7FFFFFFFFF


def test_transposition_and_returned_expressions():
    def kernel(A: float32[3, 4], B: float32[4, 3]) -> float32[4, 3]:
        return A.T + B * 2.0

    check(kernel, floats(3, 4), floats(4, 3))


def test_chained_comparison_tuples_and_chained_assignment():
    def kernel(n: int32) -> int32:
        a, b = 1, n
        a, b = b, a
        c = d = a - b
        if 0 < a < 3 and not (b == 2):
            c = 10
        return c * 100 + a * 10 + b + d

    for n in (-1, 0, 2, 3):
        check(kernel, n)


def test_arguments_may_be_assigned_and_have_defaults():
    def step(x: int32, by: int32 = 3) -> int32:
        x += by
        return x

    def kernel(x: int32) -> int32:
        return step(x) * 100 + step(x, 1) * 10 + step(by=2, x=x)

    check(kernel, 5)


def test_grid_annotations_and_band_names():
    def kernel(A: int32[4, 8]):
        for i, j in allo.grid(4, 8, name="first", pipeline=True, unroll=[2, False]):
            A[i, j] = 0
        for i in range(4, name="second", unroll=True):
            for j in range(0, 8, 2, pipeline=3):
                A[i, j] = i
        for i in range(4):
            A[i, 0] = 1

    text = str(allo.customize(kernel).module)
    assert '{loop_name = "j", pipeline_ii = 1 : ui32}' in text
    assert '{loop_name = "i", op_name = "first", unroll = 2 : i32}' in text
    assert '{loop_name = "i", op_name = "second", unroll = 0 : i32}' in text
    assert '{loop_name = "j", op_name = "S_j_1", pipeline_ii = 3 : ui32}' in text
    assert 'op_name = "S_i_3"' in text
    check(kernel, ints(4, 8), model=_grid_model)


def _grid_model(A):
    A[:] = 0
    for i in range(4):
        A[i, ::2] = i
    A[:, 0] = 1


def test_memory_annotations_reach_the_type():
    def kernel(A: int32[32] @ allo.Memory(resource="URAM")) -> int32:
        B: int32[32] @ allo.Memory("BRAM", "RAM_2P") = 0
        B[0] = A[0]
        return B[0]

    text = str(allo.customize(kernel).module)
    assert "memref<32xi32, 32 : i32>" in text
    assert "memref<32xi32, 18 : i32>" in text


def test_conditions_on_iterators_are_affine():
    def kernel(A: int32[8]):
        for i in range(8):
            if i > 2 and i <= 5:
                A[i] = 1
            elif i == 7:
                A[i] = 2
            else:
                A[i] = 3

    def model(A):
        A[:] = 3
        A[3:6] = 1
        A[7] = 2

    check(kernel, ints(8), model=model)
    assert "scf.if" not in str(allo.customize(kernel).module)


def test_a_source_text_with_its_names():
    s = allo.customize(
        "def double(x: int32) -> int32:\n    return x + x * one\n",
        global_vars={"int32": int32, "one": 1},
    )
    assert s.build()(21) == 42


def test_every_operation_has_a_place():
    def kernel(A: int32[8]) -> int32:
        s: int32 = 0
        for i in range(8):
            if A[i] > 2:
                s += A[i] * 3
        return s

    places = []

    def visit(op):
        places.append((op.name, place_of(op)))
        return ir.WalkResult.ADVANCE

    allo.customize(kernel).module.operation.walk(visit)
    without = [name for name, place in places if place is None]
    assert without == ["builtin.module"]
    assert all(p.file == __file__ and p.end_col > p.col for _, p in places if p is not None)


def test_int_types_of_any_width():
    def kernel(A: Int(7)[8], B: UInt(3)[8]) -> Int(11)[8]:
        C: Int(11)[8]
        for i in range(8):
            C[i] = A[i] * B[i]
        return C

    a, b = ints(8, low=-64, high=64, dtype=np.int8), ints(8, low=0, high=8, dtype=np.uint8)
    np.testing.assert_array_equal(run(kernel, a, b), a.astype(int) * b)


URAM = allo.Memory("URAM")


def test_a_memory_holds_on_both_sides_of_a_call():
    def inner(X: int32[8], Y: int32[8] @ allo.Memory("BRAM")) -> int32:
        Y[0] = X[1]
        return X[0] + Y[0]

    def kernel(A: int32[8] @ URAM) -> int32:
        B: int32[8] = 0
        C: int32[8] @ URAM = [5, 6, 7, 8, 9, 10, 11, 12]
        C[0] = A[0]
        return inner(A, B) + C[0] * 100 + C[1]

    text = str(allo.customize(kernel).module)
    assert (
        "func.func @inner(%arg0: memref<8xi32, 32 : i32>, %arg1: memref<8xi32, 16 : i32>)" in text
    )
    assert run(kernel, np.arange(3, 11).astype(np.int32)) == 7 + 300 + 6


def test_an_array_cannot_live_in_two_memories():
    def inner(X: int32[8] @ allo.Memory("BRAM")) -> int32:
        return X[0]

    def kernel(A: int32[8] @ URAM) -> int32:
        return inner(A)

    with pytest.raises(TypeMismatchError) as caught:
        allo.customize(kernel)
    assert caught.value.message == (
        'A is in Memory(resource="URAM"), but inner wants X in Memory(resource="BRAM").'
    )
    assert len(caught.value.notes) == 2


def test_a_function_that_takes_nothing_is_a_kernel_on_a_line_of_its_own() -> None:
    """It was run as Python; where its value is used it still is one, of compile time."""

    def tick():
        count: int32 @ Stateful = 0
        count += 1
        print("tick", count)

    def size():
        return 4

    def use(a: int32) -> int32:
        tick()
        return a + size()

    said = []
    schedule = allo.customize(use)
    for run in (
        schedule.build(),
        schedule.build(target="verilog", simulator="jit"),
        allo.interpret(use),
    ):
        said.append([int(run(3)), int(run(5))])
    assert said == [[7, 9]] * 3
