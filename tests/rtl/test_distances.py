"""Orders between accesses of a pipeline against brute-force enumeration of its iterations.

The pipeline may start an access as early as its orders allow. They are right when none allows more
than the program does, and exact where subscripts have equal coefficients.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allo.backend.rtl.compile import compile_design
from allo.backend.rtl.graph.nodes import Edge
from allo.backend.rtl.plan.orders import dependence
from allo.backend.rtl.plan.search import pipeline
from allo.dialects._mlir import ir, make_context
from allo.dialects.affine.loops import is_loop, spec_of, walk
from allo.dialects.affine.maps import bound_map, condition_of
from tests.interpreter import evaluate

from .differential import compare, function

type Orders = dict[tuple[int, int], int]


class Sequential:
    """Runs a nest as one sequence and notes (iteration, access, element, writes).

    ``first`` is the outermost loop of the pipeline, which is started anew for every iteration of
    those around it: the element's first number says which start it is.
    """

    def __init__(self, loops, accesses, first):
        self.loops, self.accesses, self.first = loops, accesses, first
        self.events: list[tuple[int, int, object, bool]] = []
        self.clock, self.starts = -1, 0
        self.run(loops[0].block, {})

    def values(self, bound, env):
        dims = [env[v] for v in bound.dims]
        return [evaluate(e, dims) for e in bound.map.results]

    def run(self, block, env):
        self.clock += block == self.loops[-1].regions[0].blocks[0]
        for child in block.operations:
            op = child.operation
            if is_loop(op):
                self.loop(op, env)
            elif op.name == "affine.if":
                self.branch(op, env)
            elif op in self.accesses:
                self.access(op, env)

    def loop(self, op, env):
        spec, block = spec_of(op), op.regions[0].blocks[0]
        self.starts += op == self.first
        low, high = max(self.values(spec.lower, env)), min(self.values(spec.upper, env))
        for iv in range(low, high, spec.step):
            self.run(block, env | {block.arguments[0]: iv})

    def branch(self, op, env):
        condition = condition_of(op)
        rows = self.values(condition.exprs, env)
        holds = all(r == 0 if eq else r >= 0 for r, eq in zip(rows, condition.equal, strict=True))
        for block in op.regions[0 if holds else 1].blocks:
            self.run(block, env)

    def access(self, op, env):
        writes = op.name.endswith(".store")
        element = (self.starts, op.operands[1 if writes else 0], *self.values(bound_map(op), env))
        self.events.append((self.clock, self.accesses.index(op), element, writes))


def brute_force(loops, accesses, first) -> Orders:
    """The least number of iterations from one access to another that must follow it."""
    events = Sequential(loops, accesses, first).events
    found: Orders = {}
    for (t0, a, x, w0), (t1, b, y, w1) in itertools.product(events, events):
        if x != y or not (w0 or w1) or t1 < t0 or (t1 == t0 and b <= a):
            continue
        found[a, b] = min(found.get((a, b), 1 << 30), t1 - t0)
    return found


@dataclass(frozen=True)
class Plan:
    """The orders of a pipeline between accesses named by their lines.

    Attributes:
        loops: how many loops it is made of.
        kept: the accesses that are left: equal loads are one, and so are stores of two branches.
    """

    loops: int
    orders: Orders
    kept: set[int]


class _EveryPair:
    """In place of ``Orders``: an edge for every pair, also where a path of edges keeps the order.

    ``test_memory_order.py`` tests which of them may be left out.
    """

    def __init__(self, nodes, meet, least, *, bypass, past, alike):
        self.nodes, self.meet, self.least = nodes, meet, least

    def edges(self):
        found = []
        for a, b in itertools.product(enumerate(self.nodes), repeat=2):
            (i, first), (j, second) = a, b
            if first.kind == second.kind == "load":
                continue
            if i < j and self.meet(first, second):
                found.append(Edge(first, second, 0, 0))
            distance = self.least(first, second) if self.least else None
            if distance is not None:
                found.append(Edge(first, second, 0, distance))
        return found


class _Planned(Exception):
    """The pipeline's orders are known; the rest of the build is left out."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan


def planned(text: str) -> Plan:
    """The orders that the compiler gives the first pipeline it plans."""

    def add_edges(body, levels, carried, **settings):
        real(body, levels, carried, **settings)
        if not carried:
            return
        orders: Orders = {}
        for edge in body.edges:
            key = edge.source.place.line, edge.target.place.line
            orders[key] = min(orders.get(key, 1 << 30), edge.distance)
        loops = max(int(level.name.rpartition("l")[2]) + 1 for level in levels)
        kept = {n.place.line for n in body.nodes if n.kind in ("load", "store")}
        raise _Planned(Plan(loops, orders, kept))

    real = pipeline.add_edges
    with pytest.MonkeyPatch.context() as patch, pytest.raises(_Planned) as caught:
        patch.setattr(pipeline, "add_edges", add_edges)
        patch.setattr(dependence, "Orders", _EveryPair)
        compile_design(text, "f")
    return caught.value.plan


def numbered(body: str, *, rewind: bool = False) -> str:
    """A function of a nest whose innermost loop is a pipeline; access ``k`` stands at line ``k``."""
    lines, count, loops = [], itertools.count(), itertools.count()
    ends = [k for k, line in enumerate(body.split("\n")) if line.strip() == "}"]
    for k, line in enumerate(body.split("\n")):
        if "affine.load" in line or "affine.store" in line:
            line = f'{line} loc("k.py":{next(count)}:1)'
        if k in ends[-body.count("affine.for") :]:
            number = next(loops)
            marks = ["pipeline_ii = 1 : ui32", *["rewind"] * rewind] if not number else []
            line = f"}} {{{', '.join([f'loop_name = "l{number}"', *marks])}}}"
        lines.append(line)
    return (
        "func.func @f(%A: memref<64xi32>, %B: memref<16x16xi32>, %C: memref<64xi32>, %n: index, "
        '%v: i32) attributes {arg_names = ["A", "B", "C", "n", "v"], otypes = "", res_types = [], '
        'arg_types = ["i32", "i32", "i32", "index", "i32"], itypes = "sss_s"} {\n'
        + "\n".join(lines)
        + "\nreturn }"
    )


def check(body: str, *, exact: bool = True, rewind: bool = False) -> Orders:
    """Every order of the program is one of the pipeline, at the same distance or a shorter one."""
    text = numbered(body, rewind=rewind)
    plan = planned(text)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        operations = list(walk(module.operation))
        loops = [op for op in operations if is_loop(op)]
        accesses = [op for op in operations if op.name.endswith((".load", ".store"))]
        wanted = brute_force(loops, accesses, loops[-plan.loops])
    wanted = {pair: d for pair, d in wanted.items() if plan.kept.issuperset(pair)}
    for pair, distance in wanted.items():
        assert pair in plan.orders, f"{pair} may be reordered at distance {distance}"
        assert plan.orders[pair] <= distance, pair
    if exact:
        assert plan.orders == wanted
    return plan.orders


def test_accumulation_in_a_reordered_gemm():
    got = check(
        """affine.for %i = 0 to 3 {
        affine.for %k = 0 to 4 {
        affine.for %j = 0 to 5 {
        %c = affine.load %B[%i, %j] : memref<16x16xi32>
        %d = arith.addi %c, %v : i32
        affine.store %d, %B[%i, %j] : memref<16x16xi32>
        }
        }
        }"""
    )
    assert got == {(1, 0): 5, (0, 1): 0, (1, 1): 5}


def test_a_scalar_recurrence_has_distance_one():
    got = check(
        """affine.for %i = 0 to 3 {
        affine.for %k = 0 to 4 {
        %c = affine.load %A[7] : memref<64xi32>
        %d = arith.addi %c, %v : i32
        affine.store %d, %A[7] : memref<64xi32>
        }
        }"""
    )
    assert got == {(1, 0): 1, (0, 1): 0, (1, 1): 1}


def row(count: int) -> str:
    return "\n".join(
        f"%c{u} = affine.load %A[%j * {count} + {u}] : memref<64xi32>\n"
        f"%d{u} = arith.addi %c{u}, %v : i32\n"
        f"affine.store %d{u}, %A[%j * {count} + {u}] : memref<64xi32>"
        for u in range(count)
    )


def test_an_unrolled_row_never_meets_between_copies():
    got = check(f"affine.for %k = 0 to 3 {{\naffine.for %j = 0 to 8 {{\n{row(8)}\n}}\n}}")
    assert {source // 2 == target // 2 for source, target in got} == {True}
    assert set(got.values()) == {0, 8}


@pytest.mark.parametrize("count", [32])
def test_wide_rows_have_one_order_a_cell_and_loop(count):
    nest = f"affine.for %k = 0 to 3 {{\naffine.for %j = 0 to 2 {{\n{row(count)}\n}}\n}}"
    assert len(check(nest)) == 3 * count


BACKWARDS = """affine.for %i = 0 to 2 {
affine.for %j = 0 to 4 {
affine.for %k = 0 to 2 {
%c = affine.load %A[%j + %k * 3] : memref<64xf32>
%d = arith.addf %c, %c : f32
affine.store %d, %A[%j + %k * 3] : memref<64xf32>
}
}
}"""


def test_an_outer_iteration_with_inner_ones_back_may_be_nearest():
    """(+1, -3, +1) are 3 iterations, (0, +3, -1) are 5: the outermost loop does not decide."""
    got = check(BACKWARDS.replace("f32", "i32").replace("addf", "addi"))
    assert got == {(1, 0): 3, (0, 1): 0, (1, 1): 3}


def test_a_float_recurrence_over_such_iterations_waits_for_its_sum():
    arguments = {"A": ("memref<64xf32>", "f32")}
    nest = BACKWARDS.removesuffix("}\n}\n}")
    ends = '} {loop_name = "k", pipeline_ii = 1 : ui32} } {loop_name = "j"} } {loop_name = "i"}'
    compare(function(f"{nest}\n{ends}\nreturn", arguments), "f")


def test_each_row_of_a_triangle_is_a_pipeline_of_its_own():
    got = check(
        """affine.for %i = 0 to 6 {
        affine.for %j = affine_map<(d) -> (d)>(%i) to 6 {
        %c = affine.load %A[%j] : memref<64xi32>
        %d = arith.addi %c, %v : i32
        affine.store %d, %A[%j] : memref<64xi32>
        }
        }"""
    )
    assert got == {(0, 1): 0}


TRIANGLE = """affine.for %k = 0 to 3 {
affine.for %i = 0 to 6 {
affine.for %j = 0 to affine_map<(d) -> (d + 1)>(%i) {
%c = affine.load %B[%i, %j] : memref<16x16xi32>
%d = arith.addi %c, %v : i32
affine.store %d, %B[%i, %j] : memref<16x16xi32>
}
}
}"""


def test_a_triangle_asked_to_rewind_is_one_pipeline():
    """An element is met again after the 21 others of the triangle."""
    assert check(TRIANGLE, rewind=True) == {(1, 0): 21, (0, 1): 0, (1, 1): 21}
    assert check(TRIANGLE) == {(0, 1): 0}


ROWS = """affine.for %k = 0 to {groups} {{
affine.for %i = 0 to affine_map<(d) -> (d * {slant} + {first})>(%k) {{
affine.for %j = 0 to 2 {{
%c = affine.load %B[%i, %j] : memref<16x16xi32>
%d = arith.addi %c, %v : i32
affine.store %d, %B[%i, %j] : memref<16x16xi32>
}}
}}
}}"""


@pytest.mark.parametrize(
    ("groups", "slant", "first", "distance"),
    [(4, -3, 10, 8), (2, -6, 7, 14), (3, 4, 3, 6), (3, 0, 5, 10)],
    ids=["shorter", "two", "longer", "equal"],
)
def test_the_last_row_of_a_triangle_is_no_distance(groups, slant, first, distance):
    """Rows of 10, 7, 4 and 1, two elements each: the third one is met again 8 later, the last one never."""
    got = check(ROWS.format(groups=groups, slant=slant, first=first), rewind=True)
    assert got == {(1, 0): distance, (0, 1): 0, (1, 1): distance}


def test_a_triangle_with_an_empty_row_is_none():
    assert check(TRIANGLE.replace("(d + 1)", "(d)"), rewind=True) == {(0, 1): 0}


@st.composite
def triangles(draw) -> str:
    """A nest with a bound slanted by the loop around, perhaps with loops around and inside."""
    trips, step = draw(st.integers(2, 5)), draw(st.sampled_from([1, 1, 2]))
    slant, least = draw(st.sampled_from([1, 2, -1])), draw(st.integers(1, 3))
    low = draw(st.integers(0, 2))
    shift = least + low - min(slant * low, slant * (low + (trips - 1) * step))
    inner = draw(st.sampled_from([1, 1, 2]))
    loops = [
        f"affine.for %i1 = {low} to {low + trips * step} step {step}",
        f"affine.for %i2 = {low} to affine_map<(d) -> (d * {slant} + {shift})>(%i1) step {inner}",
    ]
    names = ["%i1", "%i2"]
    if draw(st.booleans()):
        loops.insert(0, f"affine.for %i0 = 0 to {draw(st.integers(1, 3))}")
        names.append("%i0")
    if draw(st.integers(0, 2)) == 0:
        loops.append(f"affine.for %i3 = 0 to {draw(st.integers(1, 3))}")
        names.append("%i3")
    lines = []
    for k in range(draw(st.integers(1, 2))):
        for access in ("load", "store"):
            terms = [f"{name} * {draw(st.integers(0, 2))}" for name in names]
            where = f"%A[{' + '.join([*terms, str(draw(st.integers(0, 3)))])}] : memref<64xi32>"
            value = f"%x{k} = affine.load" if access == "load" else f"affine.store %x{k},"
            lines.append(f"{value} {where}")
    return "\n".join([*(f"{loop} {{" for loop in loops), *lines, *["}"] * len(loops)])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(triangles())
def test_random_triangles_keep_every_order_of_brute_force(body):
    check(body, exact=False, rewind=True)


def test_stores_of_both_branches_are_one_access():
    got = check(
        """affine.for %i = 0 to 8 {
        affine.if affine_set<(d) : (d mod 2 == 0)>(%i) {
        affine.store %v, %A[0] : memref<64xi32>
        } else {
        %w = arith.addi %v, %v : i32
        affine.store %w, %A[0] : memref<64xi32>
        }
        }""",
        exact=False,
    )
    assert got == {(1, 1): 1}


def test_data_dependent_subscripts_may_meet_in_the_next_iteration():
    got = planned(
        numbered(
            """affine.for %i = 0 to 8 {
            %x = affine.load %A[%i] : memref<64xi32>
            %p = arith.index_cast %x : i32 to index
            %h = memref.load %B[%p, %p] : memref<16x16xi32> loc("k.py":1:1)
            %g = arith.addi %h, %v : i32
            memref.store %g, %B[%p, %p] : memref<16x16xi32> loc("k.py":2:1)
            }"""
        )
    ).orders
    assert got == {(1, 2): 0, (2, 1): 1, (2, 2): 1}


def test_values_from_outside_are_the_same_on_both_sides():
    got = planned(
        numbered(
            """affine.for %i = 0 to 8 {
            %x = affine.load %A[%i + symbol(%n)] : memref<64xi32>
            affine.store %x, %A[%i + symbol(%n) + 3] : memref<64xi32>
            }"""
        )
    ).orders
    assert got == {(1, 0): 3}


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
    number = itertools.count()

    def subscript() -> str:
        terms = [f"%i{d} * {draw(st.integers(0, 3))}" for d in range(depth) if draw(st.booleans())]
        text = " + ".join([*terms, str(draw(st.integers(0, 4)))])
        return draw(st.sampled_from([text, text, f"({text}) mod 4", f"({text}) floordiv 2"]))

    def access() -> Iterator[str]:
        where = f"%A[{subscript()}] : memref<64xi32>"
        k = next(number)
        if draw(st.booleans()):
            yield f"%y{k} = arith.constant {k} : i32"
            yield f"affine.store %y{k}, {where}"
            return
        yield f"%x{k} = affine.load {where}"
        yield f"affine.store %x{k}, %C[{k}] : memref<64xi32>"

    lines = [line for _ in range(draw(st.integers(1, 3))) for line in access()]
    if draw(st.integers(0, 3)) == 0:
        bound = draw(st.integers(0, 3))
        condition = f"affine_set<(d) : (d - {bound} >= 0)>(%i{depth - 1})"
        lines += [f"affine.if {condition} {{", *access(), "}"]
    return "\n".join([*(f"{loop} {{" for loop in loops), *lines, *["}"] * depth])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nests())
def test_random_nests_keep_every_order_of_brute_force(body):
    check(body, exact=False)


ROW_OF_A_PIVOT = """affine.for %r = 0 to 6 {{
%b = arith.cmpi {test}, %r, {other} : index
scf.if %b {{
%x = affine.load %B[symbol(%n), 2] : memref<16x16xi32>
affine.store %x, %B[%r, 2] : memref<16x16xi32>
}}
}}"""


_BOTH = {(0, 1): 0, (1, 0): 1}


@pytest.mark.parametrize(
    ("test", "orders"),
    [
        *((test, {}) for test in ("ne", "slt", "sgt")),
        *((test, {(0, 1): 0}) for test in ("eq", "sle")),
        *((test, _BOTH) for test in ("sge", "ult")),  # that %n is negative "ult" does not exclude
    ],
)
def test_a_condition_keeps_a_store_from_a_row_of_run_time(test: str, orders: Orders):
    assert planned(numbered(ROW_OF_A_PIVOT.format(test=test, other="%n"))).orders == orders


def test_a_condition_on_another_value_keeps_nothing_apart():
    nest = "%m = arith.index_cast %v : i32 to index\n" + ROW_OF_A_PIVOT
    assert planned(numbered(nest.format(test="ne", other="%m"))).orders == _BOTH


def test_a_condition_of_two_counters_leaves_the_distances_that_it_allows():
    """Row 1 is stored in iteration (0, 1), and taken in (1, 2) first."""
    got = check(
        """affine.for %k = 0 to 4 {
        affine.for %i = 0 to 5 {
        affine.if affine_set<(i, k) : (i - k - 1 >= 0)>(%i, %k) {
        %x = affine.load %A[%k] : memref<64xi32>
        affine.store %x, %A[%i] : memref<64xi32>
        }
        }
        }"""
    )
    assert got[1, 0] == 6
    assert (0, 1) not in got


@st.composite
def guarded(draw) -> str:
    """A nest of accesses under conditions of its counters."""
    trips = [draw(st.integers(2, 4)) for _ in range(2)]
    names = ["%i0", "%i1"]

    def linear(least: int, most: int) -> str:
        terms = [f"{name} * {draw(st.integers(least, most))}" for name in names]
        return " + ".join([*terms, str(draw(st.integers(0, 4)))])

    lines = ["affine.store %v, %C[%i0] : memref<64xi32>"]
    for k in range(2):
        rows = [
            f"{linear(-1, 1).replace('%', '')} {draw(st.sampled_from(['>= 0', '== 0']))}"
            for _ in range(draw(st.integers(1, 2)))
        ]
        x, y = (f"%A[{linear(0, 2)}] : memref<64xi32>" for _ in range(2))
        then = [f"%x{k} = affine.load {x}", f"affine.store %x{k}, {y}"]
        branches = [then, [f"affine.store %v, {y}"]]
        condition = f"affine.if affine_set<(i0, i1) : ({', '.join(rows)})>(%i0, %i1) {{"
        lines += [condition, *branches[0], "}"]
        if draw(st.booleans()):
            lines[-1] = "} else {"
            lines += [*branches[1], "}"]
    loops = [f"affine.for {n} = 0 to {t} {{" for n, t in zip(names, trips, strict=True)]
    return "\n".join([*loops, *lines, "}", "}"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(guarded())
def test_random_conditions_keep_every_order_of_brute_force(body):
    check(body, exact=False)
