"""cache: the elements that a loop uses in a buffer; the answers stay, and copies run beside the work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import allo
from allo.backend.sim import external_memory
from allo.customize import Partition
from allo.errors import CapacityError, ScheduleError
from allo.ir.types import float32, int32
from tests.interpreter import run_module
from tests.schedule.support import check_golden, short, text

TARGETS = (
    {},
    {"target": "vhls", "mode": "csim"},
    {"target": "verilog", "simulator": "jit"},
)
SQUARE = "memref<12x12xi32>"
HEAD = f"""func.func @f(%A: {SQUARE}, %B: {SQUARE}) attributes {{arg_names = ["A", "B"]}} {{"""


def gemm(A: float32[24, 16], B: float32[16, 24], C: float32[24, 24]):
    for it in range(6):
        for jt in range(3):
            for k in range(16):
                for i in range(4):
                    for j in range(8):
                        C[it * 4 + i, jt * 8 + j] += A[it * 4 + i, k] * B[k, jt * 8 + j]


def tiled(s: allo.Schedule, *, double_buffer: bool = True) -> None:
    """All three arrays of gemm in buffers, filled and drained beside the sums."""
    s.pipeline("j")
    s.cache(s.A, at="it")
    s.cache(s.B, "jt", double_buffer=double_buffer)
    s.cache(s.C, "jt")


def triangle(L: int32[20, 20], x: int32[20], y: int32[20]):
    for t in range(5):
        for i in range(t * 4, t * 4 + 4):
            total: int32 = 0
            for j in range(i + 1):
                total += L[i, j] * x[j]
            y[i] = total


def shifted(A: int32[8, 6], B: int32[6, 6]):
    for t in range(8):
        if t >= 2:
            for j in range(6):
                B[t - 2, j] = A[t, j]


def right(A: int32[8, 6], B: int32[8, 6]):
    for t in range(8):
        for j in range(6):
            if j >= 2:
                B[t, j] = A[t, j]


def late(A: int32[8, 6], B: int32[8, 6]):
    for t in range(8):
        if t >= 5:
            for j in range(6):
                B[t, j] = A[t, j]


def otherwise(A: int32[8, 6], B: int32[8, 6]):
    for t in range(8):
        if t >= 3:
            A[t, 0] = 1
        else:
            for j in range(6):
                B[t, j] = A[t, j]


def again(A: int32[8, 6], B: int32[8, 6]):
    for t in range(8):
        for j in range(6):
            if j >= 1:
                B[t, j] = A[t, j]
        for k in range(6):
            A[t, k] = B[t, k]


@pytest.mark.parametrize(
    ("kernel", "filled"),
    [(shifted, False), (right, False), (late, True), (otherwise, True), (again, True)],
    ids=lambda k: getattr(k, "__name__", k),
)
def test_a_buffer_that_is_stored_where_a_condition_holds_is_filled_if_another_iteration_has_it(
    kernel, filled
):
    s = allo.customize(kernel)
    s.cache(s.B, "t")
    assert ("_init" in str(s.module)) == filled
    rng = np.random.default_rng(1)
    A, B = (rng.integers(-9, 9, shape).astype(np.int32) for shape in ((8, 6), (8, 6)))
    B = B[:6].copy() if kernel is shifted else B
    found = []
    for module in (allo.customize(kernel).build(), s.build()):
        arrays = A.copy(), B.copy()
        module(*arrays)
        found.append(arrays)
    for plain, cached in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, cached)


def edge(A: int32[30], B: int32[30]):
    for t in range(4):
        for i in range(8):
            if t * 8 + i < 30:
                if A[t * 8 + i] > 0:
                    B[t * 8 + i] = A[t * 8 + i] * 3


def results(kernel, shapes, dtype, schedule, options):
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-9, 9, shape).astype(dtype) for shape in shapes]
    s = allo.customize(kernel)
    schedule(s)
    mod = s.build(**options)
    mod(*arrays)
    return arrays, getattr(mod, "cycles", None)


@pytest.mark.parametrize("options", TARGETS)
def test_gemm_in_tiles_has_the_same_bits_on_every_target(options):
    shapes = ((24, 16), (16, 24), (24, 24))
    arrays, _ = results(gemm, shapes, np.float32, tiled, options)
    before, _ = results(gemm, shapes, np.float32, lambda s: None, {})
    expected = before[2]
    np.testing.assert_array_equal(arrays[2], expected)
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes)
    np.testing.assert_array_equal(expected, a @ b + c)


@pytest.mark.parametrize("options", TARGETS)
def test_a_triangle_and_stores_that_data_decide(options):
    def caches(s):
        s.cache(s.L, "t", double_buffer=True)
        s.cache(s.y, "t")

    (low, x, y), _ = results(triangle, ((20, 20), (20,), (20,)), np.int32, caches, options)
    np.testing.assert_array_equal(y, np.tril(low) @ x)

    def both(s):
        s.cache(s.A, "t", double_buffer=True)
        s.cache(s.B, "t")

    (a, b), _ = results(edge, ((30,), (30,)), np.int32, both, options)
    rng = np.random.default_rng(1)
    a0, b0 = (rng.integers(-9, 9, 30).astype(np.int32) for _ in range(2))
    np.testing.assert_array_equal(b, np.where(a0 > 0, a0 * 3, b0))


def test_copies_run_beside_the_sums():
    shapes = ((24, 16), (16, 24), (24, 24))
    options = {"target": "verilog", "simulator": "jit", "overlap_loops": False}

    def one_after_the_other(s):
        tiled(s, double_buffer=False)

    _, beside = results(gemm, shapes, np.float32, tiled, options)
    _, after = results(gemm, shapes, np.float32, one_after_the_other, options)
    assert beside < 0.85 * after


def test_lanes_are_copied_in_one_cycle():
    def wide(s, lanes):
        s.pipeline("j")
        row = s.cache(s.L, "t", lanes=lanes)
        s.partition(row, Partition.Cyclic, dim=2, factor=4)
        s.partition(s.L, Partition.Cyclic, dim=2, factor=4)

    options = {"target": "verilog", "simulator": "jit", "overlap_loops": False}
    shapes = ((20, 20), (20,), (20,))
    (low, x, y), four = results(triangle, shapes, np.int32, lambda s: wide(s, 4), options)
    np.testing.assert_array_equal(y, np.tril(low) @ x)
    _, one = results(triangle, shapes, np.int32, lambda s: wide(s, 1), options)
    assert one - four == 5 * (80 - 20)


def test_the_module_has_copies_only_of_what_is_read_or_stored():
    s = short(
        HEAD
        + f"""
      affine.for %i = 0 to 6 {{
        affine.for %j = 0 to 12 {{
          %a = affine.load %A[%i * 2 + 1, %j] : {SQUARE}
          affine.store %a, %B[%i, %j] : {SQUARE}
        }} {{loop_name = "j"}}
      }} {{loop_name = "i", op_name = "S"}}
      return }}"""
    )
    s.cache(s.A, "i")
    s.cache(s.B, "i", double_buffer=True)
    check_golden(s, "cache")


def test_it_replays_with_compose_and_a_handle_is_good_for_other_primitives():
    def top(A: float32[24, 16], B: float32[16, 24], C: float32[24, 24]):
        gemm(A, B, C)

    inner = allo.customize(gemm)
    buffer = inner.cache(inner.B, at="jt")
    inner.partition(buffer, dim=2)
    s = allo.customize(top)
    s.compose(inner)
    assert "B_cache" in str(s.module)
    rng = np.random.default_rng(2)
    a, b, c = (
        rng.integers(-9, 9, shape).astype(np.float32) for shape in ((24, 16), (16, 24), (24, 24))
    )
    expected = a @ b + c
    s.build()(a, b, c)
    np.testing.assert_array_equal(c, expected)


def gather(A: int32[16], at: int32[16], B: int32[16]):
    for t in range(4):
        for i in range(4):
            B[t * 4 + i] = A[at[t * 4 + i]]


def squares(A: int32[16], B: int32[4]):
    for t in range(4):
        B[t] = A[t * t]


def slices(A: int32[4, 8], B: int32[4, 8]):
    for t in range(4):
        B[t] = A[t]
        B[t, 0] = 3
    for i in range(4):
        A[i, 0] = 0


def own(A: int32[4, 8], B: int32[4, 8]):
    for t in range(4):
        row: int32[8]
        for j in range(8):
            row[j] = A[t, j]
        for k in range(8):
            B[t, k] = row[7 - k]


@pytest.mark.parametrize(
    ("kernel", "call", "message"),
    [
        (
            own,
            lambda s: s.cache(s.row, "t"),
            "cache: cannot keep what loop t uses of row: the loop declares it, so each iteration has an "
            "array of its own.",
        ),
        (
            gather,
            lambda s: s.cache(s.A, "t"),
            "cache: cannot keep what loop t uses of A: a subscript depends on data, so which elements it "
            "uses is not known before.",
        ),
        (
            squares,
            lambda s: s.cache(s.A, "t"),
            "cache: cannot keep what loop t uses of A: a subscript is not linear in the counters of loops, "
            "so which elements it uses is not known before.",
        ),
        (
            gather,
            lambda s: (s.pipeline("t"), s.cache(s.B, "t")),
            "cache: cannot keep what loop t uses of B: it is in a pipelined or unrolled loop, and copies "
            "would be unrolled with it.",
        ),
        (
            gather,
            lambda s: (s.parallel("t"), s.cache(s.B, "t")),
            "cache: cannot keep what loop t uses of B: iterations that run in parallel would write back "
            "elements that others store.",
        ),
        (slices, lambda s: s.cache(s.B, "i"), "cannot keep what loop i uses of B: it uses none."),
        (gather, lambda s: s.cache(s.B, "t", lanes=0), "cache: lanes is 0."),
        (gather, lambda s: s.cache(s.B, "t", lanes="x"), "cache: lanes is 'x'."),
        (
            gather,
            lambda s: s.cache(s.B, "t", double_buffer=-3),
            "cache: double_buffer is -3, which is no number of buffers.",
        ),
        (
            gather,
            lambda s: s.cache(s.B, "t", double_buffer=0),
            "cache: double_buffer is 0, which is no number of buffers.",
        ),
        (
            gather,
            lambda s: s.cache(s.B, "t", double_buffer=1),
            "cache: double_buffer is 1, which is no number of buffers.",
        ),
    ],
)
def test_refusals(kernel, call, message):
    s = allo.customize(kernel)
    with pytest.raises(ScheduleError) as caught:
        call(s)
    assert message in str(caught.value)
    assert f"{__file__.rsplit('/', 1)[1]}:" in str(caught.value)
    assert "help: " in str(caught.value)
    assert "_cache" not in text(s)


def large(A: float32[2048, 8192], B: float32[2048, 8192]):
    for t in range(4):
        for i in range(512):
            for j in range(8192):
                B[t * 512 + i, j] = A[t * 512 + i, j] + 1.0


@pytest.mark.parametrize(
    ("arrays", "options", "text"),
    [
        ("A", {"target": "verilog", "device": "ecp5"}, "; a LFE5U-85F holds 479,232 on chip."),
        (
            "BA",
            {"target": "vitis_hls"},
            ", and all caches 67,108,864; a U280 (xcu280) holds 44,679,168",
        ),
    ],
)
def test_a_cache_that_does_not_fit_names_a_loop_at_which_it_would(arrays, options, text):
    s = allo.customize(large)
    s.pipeline("j")
    for array in arrays:
        s.cache(f"large:{array}", "t", double_buffer=2)
    with pytest.raises(CapacityError) as caught:
        s.build(**options)
    assert f"A_cache keeps 33,554,432 bytes of A for loop t{text}" in str(caught.value)
    assert 'help: cache A at loop i, where it takes 65,536 bytes: at="i".' in str(caught.value)
    assert f"{__file__.rsplit('/', 1)[1]}:" in str(caught.value)


def test_a_line_buffer_is_filled_from_memory_once():
    """reuse_at in front of cache: windows of three rows overlap, and each row is moved once."""

    def blur(A: int32[34, 64], B: int32[32, 64]):
        for i in range(32):
            for j in range(64):
                B[i, j] = A[i, j] + A[i + 1, j] + A[i + 2, j]

    moved = []
    for reuse in (False, True):
        s = allo.customize(blur)
        if reuse:
            s.reuse_at(s.A, "i")
        s.pipeline("j")
        s.cache(s.A, "i", double_buffer=True)
        hbm = external_memory("hbm2", clock_mhz=200)
        mod = s.build(target="verilog", simulator="jit", memory={"A": hbm[0]})
        a = np.arange(34 * 64, dtype=np.int32).reshape(34, 64)
        b = np.zeros((32, 64), np.int32)
        mod(a, b)
        np.testing.assert_array_equal(b, a[:-2] + a[1:-1] + a[2:])
        moved.append(mod.traffic.channels["hbm2[0]"].bytes)
    assert moved == [3 * 32 * 256, 34 * 256]


@st.composite
def kernels(draw) -> str:
    """Two nests in one loop, which store to A and B by subscripts of all their counters."""

    def subscript(*counters: str) -> str:
        """One that stays inside of twelve, where no counter goes beyond three."""
        terms = [f"%{c}" for c in draw(st.lists(st.sampled_from(counters), max_size=2))]
        twice = f"%{draw(st.sampled_from(counters))} * 2" if len(terms) == 1 else ""
        return " + ".join([*terms, *([twice] if twice else []), str(draw(st.integers(0, 2)))])

    def nest(name: str, loops: int) -> str:
        counters = ["t", *(f"{name}{n}" for n in range(loops))]
        array, other = draw(st.permutations(["A", "B"]))
        body = ""
        for n in range(draw(st.integers(1, 2))):
            at, to = (", ".join(subscript(*counters) for _ in range(2)) for _ in range(2))
            body += f"""
            %{name}a{n} = affine.load %{array}[{at}] : {SQUARE}
            %{name}b{n} = affine.load %{other}[{to}] : {SQUARE}
            %{name}s{n} = arith.addi %{name}a{n}, %{name}b{n} : i32
            affine.store %{name}{draw(st.sampled_from("sa"))}{n}, %{other}[{to}] : {SQUARE}"""
        if draw(st.booleans()):
            body = (
                f"affine.if affine_set<(d0, d1) : (d0 - d1 >= 0)>(%t, %{counters[-1]}) {{ {body} }}"
            )
        for n in reversed(range(loops)):
            low = draw(st.sampled_from(["0", "1", "affine_map<(d0) -> (d0)>(%t)"]))
            body = f'affine.for %{name}{n} = {low} to 4 {{ {body} }} {{loop_name = "{name}{n}"}}'
        return body

    inner = nest("i", draw(st.integers(1, 2))) + nest("j", draw(st.integers(0, 1)))
    return (
        HEAD
        + f"""affine.for %t = 0 to 4 {{ {inner} }} {{loop_name = "t", op_name = "S"}} return }}"""
    )


def squares() -> list:
    rng = np.random.default_rng(3)
    return [np.array(rng.integers(-99, 99, (12, 12)).tolist(), dtype=object) for _ in range(2)]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_kernels_keep_their_answers(data):
    source = data.draw(kernels())
    original, s = short(source), short(source)
    loops = [name for _, band in s.get_loops() for name in band.loops]
    for _ in range(data.draw(st.integers(1, 3))):
        array, loop = data.draw(st.sampled_from("AB")), data.draw(st.sampled_from(["t", *loops]))
        try:
            s.cache(getattr(s, array), loop, double_buffer=data.draw(st.booleans()))
            event("applied")
        except ScheduleError:
            event("refused")
    assert s.module.operation.verify()
    expected, got = squares(), squares()
    run_module(original.module, "f", expected)
    run_module(s.module, "f", got)
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_array_equal(one, other)


def halves(A: int32[8], B: int32[8]):
    for t in range(0, 16, 4):
        for i in range(2):
            B[t // 2 + i] = A[t // 2 + i] + A[(t * 2 + 4) % 5]


@pytest.mark.parametrize("options", TARGETS)
def test_subscripts_with_quotients_of_a_loop_with_a_step(options):
    def cached(s):
        s.cache(s.A, at="t")
        s.cache(s.B, at="t")

    after, _ = results(halves, ((8,), (8,)), np.int32, cached, options)
    before, _ = results(halves, ((8,), (8,)), np.int32, lambda s: None, {})
    for left, right in zip(before, after, strict=True):
        np.testing.assert_array_equal(left, right)


def test_an_access_under_a_condition_that_never_holds_uses_no_element() -> None:
    def never(A: int32[5, 4], n: int32):
        for i in range(2, 7):
            for j in range(4):
                if j > 3:
                    A[(i + j) % 5, j] -= n

    def sometimes(A: int32[5, 4], n: int32):
        for i in range(5):
            for j in range(4):
                A[i, j] += n
                if j > 3:
                    A[i, 3 - j] -= n

    with pytest.raises(ScheduleError, match="no iteration of it uses an element"):
        s = allo.customize(never)
        s.cache(s.A, at="i")
    s = allo.customize(sometimes)
    s.cache(s.A, at="i")
    A = np.arange(20, dtype=np.int32).reshape(5, 4)
    s.build()(A, 3)
    assert np.array_equal(A, np.arange(20).reshape(5, 4) + 3)
