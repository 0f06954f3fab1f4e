"""reuse_at and compute_at on random windows and chains: the answers stay."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from allo.errors import ScheduleError
from allo.schedule import Schedule
from tests.interpreter import run_module
from tests.schedule.support import short

SIZE = 9
IMAGE = f"memref<{SIZE}x{SIZE}xi32>"


def arguments(count: int, shape: tuple[int, ...]) -> list:
    rng = np.random.default_rng(count)
    return [np.array(rng.integers(-99, 99, shape).tolist(), dtype=object) for _ in range(count)]


def assert_same(
    original: Schedule, s: Schedule, count: int, shape: tuple[int, ...] = (SIZE, SIZE)
) -> None:
    assert s.module.operation.verify()
    first, second = (arguments(count, shape) for _ in range(2))
    run_module(original.module, "f", first)
    run_module(s.module, "f", second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@st.composite
def stencils(draw) -> str:
    """Sums of reads around (y, x), written out or by window loops."""
    low_y, low_x = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    body = ""
    if draw(st.booleans()):
        r, c = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        body = f"""
        affine.for %r = 0 to {r} {{ affine.for %c = 0 to {c} {{
          %a = affine.load %A[%y + %r + {draw(st.integers(0, 1))}, %x + %c] : {IMAGE}
          %b = affine.load %B[%y, %x] : {IMAGE}
          %s = arith.addi %b, %a : i32
          affine.store %s, %B[%y, %x] : {IMAGE}
        }} {{loop_name = "c"}} }} {{loop_name = "r"}}"""
    else:
        offsets = st.tuples(st.integers(0, 3), st.integers(0, 3))
        for n, (dy, dx) in enumerate(draw(st.lists(offsets, min_size=1, max_size=4))):
            body += f"""
            %a{n} = affine.load %A[%y + {dy}, %x + {dx}] : {IMAGE}
            %b{n} = affine.load %B[%y, %x] : {IMAGE}
            %s{n} = arith.addi %b{n}, %a{n} : i32
            affine.store %s{n}, %B[%y, %x] : {IMAGE}"""
    return f"""func.func @f(%A: {IMAGE}, %B: {IMAGE}) attributes {{arg_names = ["A", "B"]}} {{
      affine.for %y = {min(low_y, 1)} to {min(low_y, 1) + rows} {{
        affine.for %x = {min(low_x, 1)} to {min(low_x, 1) + columns} {{ {body}
        }} {{loop_name = "x"}} }} {{loop_name = "y", op_name = "S"}}
      return }}"""


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_windows(data):
    source = data.draw(stencils())
    original, s = short(source), short(source)
    target = s.A
    for axis in data.draw(st.sampled_from([["y"], ["x"], ["y", "x"]])):
        try:
            target = s.reuse_at(target, axis)
            event(f"{axis} applied")
        except ScheduleError:
            event(f"{axis} refused")
    assert_same(original, s, 2)


@st.composite
def volumes(draw) -> str:
    """Reads of two arrays around (z, y, x), some only where a condition holds, borders included."""
    kind = "memref<4x5x6xi32>"
    offset = st.integers(-1, 1)
    lines = []
    for n in range(draw(st.integers(2, 5))):
        array = draw(st.sampled_from("AAD"))
        offsets = [draw(offset) for _ in "zyx"]
        subscripts = ", ".join(f"%{i} + {o}" for i, o in zip("zyx", offsets, strict=True))
        rows = draw(st.sampled_from([[], ["d0 - 2 >= 0"], ["3 - d2 >= 0", "d2 - 2 >= 0"]]))
        for i, (o, size) in enumerate(zip(offsets, (4, 5, 6), strict=True)):
            if o:
                rows = [*rows, f"d{i} - 1 >= 0" if o < 0 else f"{size - 2} - d{i} >= 0"]
        body = f"""
          %a{n} = affine.load %{array}[{subscripts}] : {kind}
          %b{n} = affine.load %B[%z, %y, %x] : {kind}
          %s{n} = arith.addi %b{n}, %a{n} : i32
          affine.store %s{n}, %B[%z, %y, %x] : {kind}"""
        if rows:
            condition = f"affine_set<(d0, d1, d2) : ({', '.join(rows)})>"
            body = f"affine.if {condition}(%z, %y, %x) {{ {body} }}"
        lines.append(body)
    low, high = draw(st.sampled_from([(0, 0), (0, 1), (1, 1)]))
    return f"""func.func @f(%A: {kind}, %B: {kind}, %D: {kind}) attributes {{arg_names = ["A", "B", "D"]}} {{
      affine.for %z = {low} to {4 - high} {{
        affine.for %y = 0 to {5 - high} {{
          affine.for %x = {low} to 6 {{ {" ".join(lines)}
          }} {{loop_name = "x"}} }} {{loop_name = "y"}} }} {{loop_name = "z", op_name = "S"}}
      return }}"""


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_volumes(data):
    source = data.draw(volumes())
    original, s = short(source), short(source)
    targets = {"A": s.A, "D": s.D}
    steps = data.draw(
        st.lists(st.tuples(st.sampled_from("AD"), st.sampled_from("zyx")), max_size=6)
    )
    for array, axis in sorted(steps, key=lambda step: "zyx".index(step[1])) + steps[:1]:
        try:
            targets[array] = s.reuse_at(targets[array], axis)
            event(f"{axis} applied")
        except ScheduleError:
            event(f"{axis} refused")
    assert_same(original, s, 3, (4, 5, 6))


@st.composite
def chains(draw) -> str:
    """B from A, then C from B and sometimes from A, in nests of equal or other extents."""
    n = draw(st.integers(2, 4))
    m = draw(st.sampled_from([n, n, n, n + 1]))
    subscript = st.sampled_from(["%i, %j", "%i, %j", "%j, %i", "%i, 0", "%i + 1, %j", "3, 3"])
    extra = draw(st.booleans())
    stage = "\n".join(
        f"""affine.for %i = 0 to {m if k else n} {{ affine.for %j = 0 to {n} {{
          %x = affine.load %{src}[{draw(subscript)}] : {IMAGE}
          %z = affine.load %{dst if extra else src}[{draw(subscript)}] : {IMAGE}
          %s = arith.addi %x, %z : i32
          affine.store %s, %{dst}[{draw(subscript)}] : {IMAGE}
        }} {{loop_name = "j"}} }} {{loop_name = "i", op_name = "{dst}"}}"""
        for k, (src, dst) in enumerate((("A", "B"), ("B", "C")))
    )
    local = draw(st.booleans())
    head = f'%B = memref.alloc() {{name = "B"}} : {IMAGE}' if local and not extra else ""
    argument = "" if head else f", %B: {IMAGE}"
    names = '["A", "C"]' if head else '["A", "C", "B"]'
    return f"""func.func @f(%A: {IMAGE}, %C: {IMAGE}{argument}) attributes {{arg_names = {names}}} {{
      {head}
      {stage}
      return }}"""


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_chains(data):
    source = data.draw(chains())
    original, s = short(source), short(source)
    bands = s.get_loops()
    axis = data.draw(st.sampled_from("ij"))
    try:
        s.compute_at(bands.B[axis], bands.C[axis])
        event("applied")
    except ScheduleError as error:
        event(type(error).__name__)
    written_first = "memref.alloc" not in source or "%i, %j" in source
    if written_first:
        assert_same(original, s, 3 if "%B: " in source else 2)
