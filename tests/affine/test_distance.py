"""Flattened dependence distances against brute-force enumeration of the nest."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allo.dialects._mlir import ir, make_context
from allo.dialects.affine import Dependence, flattened_dependences
from allo.dialects.affine.loops import is_loop, spec_of, walk
from allo.dialects.affine.maps import bound_map, condition_of, evaluate


def parse(body: str, context: ir.Context) -> ir.Module:
    return ir.Module.parse(
        "func.func @f(%A: memref<64xi32>, %B: memref<16x16xi32>, %n: index, %v: i32) {\n"
        + body
        + "\nreturn }",
        context,
    )


def nest_and_accesses(module):
    operations = list(walk(module.operation))
    loops = [op for op in operations if is_loop(op)]
    accesses = [op for op in operations if op.name.endswith((".load", ".store"))]
    return loops, accesses


class Sequential:
    """Runs a nest as one sequence and notes (flattened iteration, access, element, writes)."""

    def __init__(self, loops, accesses):
        self.loops, self.accesses = loops, accesses
        self.innermost = loops[-1].regions[0].blocks[0]
        self.events: list[tuple[int, int, object, bool]] = []
        self.waiting: list[tuple[int, object, bool]] = []
        self.clock = -1
        self.run(loops[0].block, {})

    def values(self, bound, env):
        dims = [env[v] for v in bound.dims]
        return [evaluate(e, dims) for e in bound.map.results]

    def run(self, block, env):
        loop_passed = False
        for child in block.operations:
            op = child.operation
            if is_loop(op):
                self.loop(op, env)
                loop_passed = True
            elif op.name == "affine.if":
                self.branch(op, env)
            elif op in self.accesses:
                self.access(op, env, loop_passed)
        if block == self.innermost:
            self.clock += 1
            self.events += [(self.clock, *event) for event in self.waiting]
            self.waiting = []

    def loop(self, op, env):
        spec, block = spec_of(op), op.regions[0].blocks[0]
        low, high = max(self.values(spec.lower, env)), min(self.values(spec.upper, env))
        for iv in range(low, high, spec.step):
            self.run(block, env | {block.arguments[0]: iv})

    def branch(self, op, env):
        condition = condition_of(op)
        rows = self.values(condition.exprs, env)
        holds = all(r == 0 if eq else r >= 0 for r, eq in zip(rows, condition.equal, strict=True))
        for block in op.regions[0 if holds else 1].blocks:
            self.run(block, env)

    def access(self, op, env, loop_passed):
        writes = op.name.endswith(".store")
        element = (op.operands[1 if writes else 0], *self.values(bound_map(op), env))
        event = (self.accesses.index(op), element, writes)
        if loop_passed:
            self.events.append((self.clock, *event))
        else:
            self.waiting.append(event)


def brute_force(loops, accesses) -> set[tuple[int, int, str, int]]:
    events = Sequential(loops, accesses).events
    found: dict[tuple[int, int, str], int] = {}
    for (t0, a, x, w0), (t1, b, y, w1) in itertools.product(events, events):
        if x != y or not (w0 or w1) or t1 < t0 or (t1 == t0 and b <= a):
            continue
        kind = "WAW" if w0 and w1 else "RAW" if w0 else "WAR"
        key = (a, b, kind)
        found[key] = min(found.get(key, 1 << 30), t1 - t0)
    return {(*key, distance) for key, distance in found.items()}


def check(body: str) -> list[Dependence]:
    context = make_context()
    module = parse(body, context)
    with context, ir.Location.unknown():
        loops, accesses = nest_and_accesses(module)
        got = flattened_dependences(loops, accesses)
        expected = brute_force(loops, accesses)
        assert {(d.src_op_index, d.dst_op_index, d.kind, d.distance) for d in got} == expected
        assert all(d.exact for d in got)
    return got


def test_accumulation_in_a_reordered_gemm():
    got = check(
        """
        affine.for %i = 0 to 3 { affine.for %k = 0 to 4 { affine.for %j = 0 to 5 {
          %c = affine.load %B[%i, %j] : memref<16x16xi32>
          affine.store %c, %B[%i, %j] : memref<16x16xi32>
        } } }"""
    )
    assert Dependence(1, 0, "RAW", 5) in got
    assert Dependence(0, 1, "WAR", 0) in got
    assert Dependence(1, 1, "WAW", 5) in got


def test_scalar_recurrence_has_distance_one():
    got = check(
        """
        affine.for %i = 0 to 3 { affine.for %k = 0 to 4 {
          %c = affine.load %A[7] : memref<64xi32>
          affine.store %c, %A[7] : memref<64xi32>
        } }"""
    )
    assert Dependence(1, 0, "RAW", 1) in got


def test_imperfect_nest_runs_outer_accesses_at_the_edges():
    got = check(
        """
        affine.for %i = 0 to 4 {
          affine.store %v, %A[%i] : memref<64xi32>
          affine.for %k = 0 to 5 {
            %c = affine.load %A[%i] : memref<64xi32>
            affine.store %c, %A[%i] : memref<64xi32>
          }
          %r = affine.load %A[%i] : memref<64xi32>
          affine.store %r, %A[%i + 8] : memref<64xi32>
        }"""
    )
    assert Dependence(0, 1, "RAW", 0) in got
    assert Dependence(2, 3, "RAW", 0) in got


def test_unrolled_row_never_meets_between_copies():
    copies = "\n".join(
        f"%c{u} = affine.load %A[%j * 8 + {u}] : memref<64xi32>\n"
        f"affine.store %c{u}, %A[%j * 8 + {u}] : memref<64xi32>"
        for u in range(8)
    )
    got = check(f"affine.for %k = 0 to 3 {{ affine.for %j = 0 to 8 {{ {copies} }} }}")
    assert {(d.src_op_index // 2 == d.dst_op_index // 2) for d in got} == {True}
    assert {d.distance for d in got} == {0, 8}


def test_triangle_is_exact_by_enumeration():
    got = check(
        """
        affine.for %i = 0 to 6 { affine.for %j = affine_map<(d) -> (d)>(%i) to 6 {
          %c = affine.load %A[%j] : memref<64xi32>
          affine.store %c, %A[%j] : memref<64xi32>
        } }"""
    )
    assert Dependence(1, 0, "RAW", 1) in got


def test_branches_of_one_if_do_not_meet_in_one_iteration():
    context = make_context()
    module = parse(
        """
        affine.for %i = 0 to 8 {
          affine.if affine_set<(d) : (d mod 2 == 0)>(%i) {
            affine.store %v, %A[0] : memref<64xi32>
          } else {
            affine.store %v, %A[0] : memref<64xi32>
          }
        }""",
        context,
    )
    with context, ir.Location.unknown():
        got = flattened_dependences(*nest_and_accesses(module))
    distances = {(d.src_op_index, d.dst_op_index): d.distance for d in got}
    assert distances[(0, 1)] == 1 == distances[(1, 0)]
    assert distances[(0, 0)] == 2


def test_data_dependent_subscripts_are_conservative():
    context = make_context()
    module = parse(
        """
        affine.for %i = 0 to 8 {
          %x = affine.load %A[%i] : memref<64xi32>
          %p = arith.index_cast %x : i32 to index
          %h = memref.load %B[%p, %p] : memref<16x16xi32>
          memref.store %h, %B[%p, %p] : memref<16x16xi32>
        }""",
        context,
    )
    with context, ir.Location.unknown():
        got = flattened_dependences(*nest_and_accesses(module))
    assert got == [
        Dependence(1, 2, "WAR", 0, exact=False),
        Dependence(2, 1, "RAW", 1, exact=False),
        Dependence(2, 2, "WAW", 1, exact=False),
    ]


def test_values_from_outside_are_the_same_on_both_sides():
    context = make_context()
    module = parse(
        """
        affine.for %i = 0 to 8 {
          %x = affine.load %A[%i + symbol(%n)] : memref<64xi32>
          affine.store %x, %A[%i + symbol(%n) + 3] : memref<64xi32>
        }""",
        context,
    )
    with context, ir.Location.unknown():
        got = flattened_dependences(*nest_and_accesses(module))
    assert got == [Dependence(1, 0, "RAW", 3)]


@st.composite
def nests(draw) -> str:
    depth = draw(st.integers(1, 3))
    loops = []
    for d in range(depth):
        low, trips = draw(st.integers(0, 2)), draw(st.integers(1, 4))
        step = draw(st.sampled_from([1, 1, 2, 3]))
        if d and draw(st.integers(0, 4)) == 0:
            loops.append(f"affine.for %i{d} = affine_map<(d) -> (d)>(%i{d - 1}) to 16 step {step}")
        else:
            loops.append(f"affine.for %i{d} = {low} to {low + trips * step} step {step}")

    def subscript(level: int) -> str:
        terms = [
            f"%i{d} * {draw(st.integers(0, 3))}" for d in range(level + 1) if draw(st.booleans())
        ]
        text = " + ".join([*terms, str(draw(st.integers(0, 4)))])
        return draw(st.sampled_from([text, text, f"({text}) mod 4", f"({text}) floordiv 2"]))

    count = itertools.count()

    def access(level: int) -> str:
        where = f"%A[{subscript(level)}] : memref<64xi32>"
        if draw(st.booleans()):
            return f"affine.store %v, {where}"
        return f"%x{next(count)} = affine.load {where}"

    def body(level: int) -> str:
        if level == depth:
            return ""
        before = [access(level) for _ in range(draw(st.integers(0, 2)))]
        after = [access(level) for _ in range(draw(st.integers(0, 1)))]
        if level == depth - 1:
            before.append(access(level))
            if draw(st.integers(0, 3)) == 0:
                condition = f"affine_set<(d) : (d - {draw(st.integers(0, 3))} >= 0)>(%i{level})"
                after.append(f"affine.if {condition} {{ {access(level)} }}")
        inner = body(level + 1)
        return f"{loops[level]} {{\n" + "\n".join([*before, inner, *after]) + "\n}"

    return body(0)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nests())
def test_random_nests_agree_with_brute_force(body):
    check(body)


@pytest.mark.parametrize("count", [64])
def test_wide_rows_have_one_dependence_a_cell_and_loop(count):
    copies = "\n".join(
        f"%c{u} = affine.load %A[%j * {count} + {u}] : memref<64xi32>\n"
        f"affine.store %c{u}, %A[%j * {count} + {u}] : memref<64xi32>"
        for u in range(count)
    )
    context = make_context()
    module = parse(f"affine.for %k = 0 to 3 {{ affine.for %j = 0 to 8 {{ {copies} }} }}", context)
    with context, ir.Location.unknown():
        got = flattened_dependences(*nest_and_accesses(module))
    assert len(got) == 3 * count
