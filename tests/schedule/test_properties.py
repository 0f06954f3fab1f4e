"""Random affine kernels under random primitives compute what they computed before."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from allo.dialects.core.partition import Partition
from allo.errors import ScheduleError
from allo.schedule import Schedule
from tests.interpreter import copied, run_module
from tests.schedule.support import full_text, short

SHAPES = {"A": (12, 12), "B": (12, 12), "y": (12,)}
HEAD = (
    "func.func @f(%A: memref<12x12xi32>, %B: memref<12x12xi32>, %y: memref<12xi32>, %v: i32) "
    'attributes {arg_names = ["A", "B", "y", "v"], arg_types = ["i32", "i32", "i32", "i32"], '
    'itypes = "ssss", otypes = "", res_types = []} {\n'
)
NAMES = ["i", "j", "k"]


@st.composite
def kernels(draw) -> str:
    """One or two bands of two or three loops with a few statements."""
    fresh = iter(range(1000))
    bands = [_band(draw, number, fresh) for number in range(draw(st.integers(1, 2)))]
    local = '%C = memref.alloc() {name = "C"} : memref<12x12xi32>\n'
    fill = "linalg.fill ins(%v : i32) outs(%C : memref<12x12xi32>)\n"
    save = "memref.copy %C, %B : memref<12x12xi32> to memref<12x12xi32>\n"
    return HEAD + local + fill + "\n".join(bands) + "\n" + save + "return }"


def _band(draw, number: int, fresh) -> str:
    depth = draw(st.integers(2, 3))
    heads = []
    for level in range(depth):
        low, extent = draw(st.integers(0, 2)), draw(st.integers(2, 5))
        triangle = level > 0 and draw(st.integers(0, 5)) == 0
        bounds = (
            f"affine_map<(d) -> (d)>(%i{level - 1}) to 8"
            if triangle
            else f"{low} to {low + extent}"
        )
        heads.append(f"affine.for %i{level} = {bounds}")
    imperfect = draw(st.integers(0, 3)) == 0

    def body(level: int) -> str:
        tail = f'loop_name = "{NAMES[level]}"'
        tail += f', op_name = "band{number}"' if level == 0 else ""
        inner = body(level + 1) if level + 1 < depth else ""
        count = (
            draw(st.integers(1, 2)) if level + 1 == depth else int(imperfect and level == depth - 2)
        )
        statements = [_statement(draw, level, fresh) for _ in range(count)]
        return f"{heads[level]} {{\n" + "\n".join([*statements, inner]) + f"\n}} {{{tail}}}"

    return body(0)


def _subscript(draw, level: int) -> str:
    iv = f"%i{draw(st.integers(0, level))}"
    other = f"%i{draw(st.integers(0, level))}"
    return draw(
        st.sampled_from([iv, iv, iv, f"{iv} + 1", f"{iv} + 2", f"({iv} + {other}) mod 12", "3"])
    )


def _statement(draw, level: int, fresh) -> str:
    def place(name: str) -> str:
        indices = ", ".join(_subscript(draw, level) for _ in SHAPES.get(name, (12, 12)))
        kind = "memref<12xi32>" if name == "y" else "memref<12x12xi32>"
        return f"%{name}[{indices}] : {kind}"

    source = place(draw(st.sampled_from(["A", "B", "y", "C"])))
    name = draw(st.sampled_from(["A", "y", "C", "C"]))
    target = place(name)
    a, b, c = (f"%t{next(fresh)}" for _ in range(3))
    operator = draw(st.sampled_from(["arith.addi", "arith.addi", "arith.muli", "arith.subi"]))
    old = target if draw(st.booleans()) else source
    written = target.replace("] :", f'] {{to = "{name}"}} :')
    return (
        f"{a} = affine.load {source}\n{b} = affine.load {old}\n"
        f"{c} = {operator} {b}, {a} : i32\n"
        f"affine.store {c}, {written}"
    )


@st.composite
def applications(draw, s: Schedule):
    """One random call of a primitive on what the schedule holds now."""
    bands = [band for _, band in s.get_loops()]
    band = draw(st.sampled_from(bands))
    loops = [wrapper for _, wrapper in band]
    kind = draw(
        st.sampled_from(
            [
                "split",
                "split",
                "cut",
                "sink",
                "reorder",
                "reorder",
                "reorder",
                "skew",
                "interleave",
                "interleave",
                "rebalance",
                "constant_multiply",
                "tabulate",
                "accumulate",
                "bind",
                "unroll",
                "pipeline",
                "parallel",
                "partition",
                "buffer_at",
                "buffer_at",
                "cache",
                "place",
            ]
        )
    )
    axis = draw(st.sampled_from(loops))
    if kind in ("split", "cut"):
        return kind, (axis, draw(st.integers(1, 5)))
    if kind == "reorder":
        chosen = draw(st.lists(st.sampled_from(loops), min_size=2, max_size=3, unique=True))
        return kind, tuple(chosen)
    if kind == "skew":
        return kind, (axis, draw(st.sampled_from(loops)), draw(st.integers(1, 2)))
    if kind == "unroll":
        return kind, (axis, draw(st.integers(0, 4)))
    if kind == "interleave":
        return kind, (axis, draw(st.integers(2, 4)))
    if kind == "bind":
        return kind, ("mul", draw(st.sampled_from(["dsp", "fabric", "packed"])), axis)
    if kind == "partition":
        buffer = getattr(s, draw(st.sampled_from(["A", "B", "y", "C"])))
        return kind, (
            buffer,
            draw(st.sampled_from(list(Partition))),
            draw(st.integers(0, 2)),
            draw(st.integers(0, 4)),
        )
    if kind == "place":
        return kind, (getattr(s, draw(st.sampled_from("ABy"))), "hbm[0]")
    if kind in ("buffer_at", "cache"):
        return kind, (getattr(s, draw(st.sampled_from(["A", "y", "C", "C"]))), axis)
    return kind, (axis,)


def arguments(seed: int) -> list:
    rng = np.random.default_rng(seed)
    arrays = [
        np.array(rng.integers(-1000, 1000, shape).tolist(), dtype=object)
        for shape in ((12, 12), (12, 12), (12,))
    ]
    return [*arrays, 7]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_schedules_keep_the_answer(data):
    source = data.draw(kernels(), label="kernel")
    original, s = short(source), short(source)
    for _ in range(data.draw(st.integers(1, 5))):
        kind, call = data.draw(applications(s), label="primitive")
        before = full_text(s)
        try:
            getattr(s, kind)(*call)
            event(f"{kind} applied")
        except ScheduleError as error:
            event(f"{kind} refused: {type(error).__name__}")
            assert full_text(s) == before
        assert s.module.operation.verify()
    given_args = arguments(1)
    expected, got = copied(given_args), copied(given_args)
    run_module(original.module, "f", expected)
    run_module(s.module, "f", got)
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b)


SUMS = """
affine.for %i0 = 0 to {I} {{ affine.for %i1 = 0 to {J} {{ affine.for %i2 = 0 to {K} {{
  %a = affine.load %A[%i0, %i2] : memref<12x12xi32>
  %b = affine.load %B[%i2, %i1] : memref<12x12xi32>
  %p = arith.muli %a, %b : i32
  %c = affine.load %{name}[{where}] : memref<{shape}xi32>
  %s = arith.addi %c, %p : i32
  affine.store %s, %{name}[{where}] : memref<{shape}xi32>
}} {{loop_name = "k"}} }} {{loop_name = "j"}} }} {{loop_name = "i", op_name = "band"}}
"""
TARGETS = [
    ("C", "%i0, %i1", "12x12"),
    ("C", "%i1, %i0", "12x12"),
    ("C", "%i0 + 1, %i1 + 2", "12x12"),
    ("y", "%i0 + %i1 - %i1", "12"),
    ("C", "3, %i0 + %i1", "12x12"),
]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_buffered_sums_keep_the_answer(data):
    extents = {n: data.draw(st.integers(2, 6)) for n in "IJK"}
    name, where, shape = data.draw(st.sampled_from(TARGETS))
    local = '%C = memref.alloc() {name = "C"} : memref<12x12xi32>\n'
    fill = "linalg.fill ins(%v : i32) outs(%C : memref<12x12xi32>)\n"
    save = "memref.copy %C, %B : memref<12x12xi32> to memref<12x12xi32>\n"
    nest = SUMS.format(**extents, name=name, where=where, shape=shape)
    source = HEAD + local + fill + nest + save + "return }"
    original, s = short(source), short(source)
    for axis in data.draw(st.lists(st.sampled_from("ijk"), max_size=2, unique=True)):
        try:
            s.split(axis, data.draw(st.integers(1, 4)))
        except ScheduleError:
            event("split refused")
    loops = [n for _, band in s.get_loops() for n in band.loops]
    try:
        s.reorder(*data.draw(st.permutations(loops)))
    except ScheduleError:
        event("reorder refused")
    try:
        s.buffer_at(getattr(s, name), data.draw(st.sampled_from(loops)))
        event("buffer_at applied")
    except ScheduleError:
        event("buffer_at refused")
    assert s.module.operation.verify()
    expected, got = arguments(2), arguments(2)
    run_module(original.module, "f", expected)
    run_module(s.module, "f", got)
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b)
