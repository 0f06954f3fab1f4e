"""Records of one function to its tree of regions: unrolling, flattening, if-conversion.

What becomes what:

* straight-line code between loops: a block;
* a loop without loops, calls or whiles inside (after unrolling): a leaf, ready for the pipeline
  generator; perfectly nested loops with constant bounds above it join the leaf as counters;
* other loops, conditions around loops, whiles around loops, calls: regions of their own;
* conditions without loops inside: predicates on stores, selections of values.
"""

from __future__ import annotations

from typing import Any

from allo.dialects.diagnostics import UnsupportedOpError

from ..graph.linear import constant
from ..graph.nodes import Array, Node, Stream
from ..graph.prune import EFFECTS
from ..graph.regions import Call, If, Leaf, Seq, While
from .exits import exit_of_while
from .loops import contains_control, held_control
from .nests import Nests, band_of
from .records import FunctionRecord, MemType, Op, argument_width, element_width
from .straight_line import STRAIGHT_HANDLERS
from .values.builder import INDEX_HIGH, INDEX_LOW


class Elaborator(Nests):
    """Turns one function's records into regions and bodies."""

    # --- conditions ----------------------------------------------------------------

    def _if(self, op: Op) -> None:
        if self._leaf or not any(contains_control(r, self._in_place) for r in op.regions):
            with self._straight():
                self._predicated(op)
            return
        self._close()
        with self._static():
            condition = self._condition(op)[0]
        if op is self._guard:
            self._guards.append(condition)
        region = If(condition, Seq(), Seq())
        for sequence, ops in zip((region.then, region.other), op.regions, strict=False):
            with self._inside(sequence):
                self.ops(ops)
        self._add(region)

    def _predicated(self, op: Op) -> None:
        condition, guard = self._condition(op)
        if op is self._guard:
            self._guards.append(condition)
        saved = self._leaf
        self._leaf = True
        if not (condition.kind == "const" and not condition.data):
            with self.builder.under(condition, guard):
                self.ops(op.regions[0])
        if len(op.regions) > 1 and op.regions[1]:
            opposite = self.builder.negate(condition)
            if not (opposite.kind == "const" and not opposite.data):
                inverse = None if guard is None else ("not", guard)
                with self.builder.under(opposite, inverse):
                    self.ops(op.regions[1])
        self._leaf = saved

    def _condition(self, op: Op) -> tuple[Node, Any]:
        """The condition as a node, and as a guard that can be counted (None: always true)."""
        if op.name == "scf.if":
            given = self._value(op.operands[0], 1)
            return given, None if given.kind == "const" else ("data", given)
        dims, rows = op.attrs["condition"]
        operands = [self.arithmetic.lin(self.env[o]) for o in op.operands]
        node: Node | None = None
        tests = []
        for expr, equal in rows:
            lin = self.arithmetic.expression(expr, operands, dims)
            test = self.builder.compare(0 if equal else 5, lin, constant(0))
            tests.append(("eq" if equal else "ge", lin))
            node = self.builder.both(node, test)
        joined = node or self.builder.const(1, 1)
        return joined, None if joined.kind == "const" else ("and", tuple(tests))

    # --- while loops ----------------------------------------------------------------

    def _while(self, op: Op) -> None:
        if self._leaf:
            raise UnsupportedOpError(
                "A while loop stands inside a pipelined or unrolled loop.",
                op.place,
                help="a for loop with a bound and a break in its place joins the pipeline; else pipeline or "
                "unroll no loop around it.",
            )
        test, work = op.regions
        condition_op = test[-1]
        if not contains_control(test, self._in_place) and not contains_control(
            work, self._in_place
        ):
            self._while_leaf(op, condition_op)
            return
        region = While(Seq(), self.builder.const(0, 1), Seq(), place=op.place)
        region.held = held_control([*test, *work], self._in_place)
        with self._inside(region.test):
            self.ops(test)
        with self._static():
            region.condition = self._value(condition_op.operands[0], 1)
        with self._inside(region.child):
            self.ops(work)
        self._add(region)

    def _while_leaf(self, op: Op, condition_op: Op) -> None:
        body = self.function.new_body()
        leaf = Leaf([], body, None, band=band_of(op), place=op.place)
        self._add(leaf)
        with self._filling(body, None, early=True):
            self.ops(op.regions[0])
            bare = not any(node.kind in EFFECTS for node in body.nodes)
            condition = self._value(condition_op.operands[0], 1)
            if condition.kind == "const" and condition.data:
                self.memory.forwards = False
                self.ops(op.regions[1])
                self.memory.finish(body)
                return
            with self.builder.under(condition, ("data", condition)):
                self.ops(op.regions[1])
            self.memory.finish(body)
            leaf.exit = exit_of_while(self.builder, condition, bare=bare)

    # --- calls ---------------------------------------------------------------------

    def _call(self, op: Op) -> None:
        callee = self.program.functions[op.attrs["callee"]]
        if self._leaf or self._in_place(op):
            self._inline(op, callee)
            return
        self._close()
        scalars: list[Node] = []
        arrays: list[Array] = []
        streams: list[Stream] = []
        with self._static():
            for position, value in enumerate(op.operands):
                bound = self.env[value]
                if isinstance(bound, Array):
                    arrays.append(bound)
                elif isinstance(bound, Stream):
                    streams.append(bound)
                else:
                    scalars.append(self.arithmetic.node(bound, argument_width(callee, position)))
        results = self._call_results(op, callee, arrays)
        self._add(Call(callee.name, scalars, arrays, results, streams, place=op.place))

    def _call_results(self, op: Op, callee: FunctionRecord, arrays: list[Array]) -> list[Node]:
        results: list[Node] = []
        returned = _return_operands(callee)
        for position, (value, kind) in enumerate(zip(op.results, op.result_types, strict=True)):
            if not isinstance(kind, MemType):
                node = self.builder.free_node("result", element_width(kind), f"result{position}")
                results.append(node)
                self.env[value] = (
                    self.builder.as_symbol(node, INDEX_LOW, INDEX_HIGH) if kind == "index" else node
                )
                continue
            if returned[position] in callee.args:
                same = callee.args.index(returned[position])
                self.env[value] = self.env[op.operands[same]]
                continue
            found = self.env.get(value)
            if not isinstance(found, Array):
                attrs = {**op.attrs, "name": op.attrs.get("name") or f"res{position}"}
                self._alloc(_alloc_record(op, value, kind, attrs))
                found = self.env[value]
            assert isinstance(found, Array)
            if found.storage == "reg" and found.depth > 1:
                found.storage = "ram"
            arrays.append(found)
        return results

    def _inline(self, op: Op, callee: FunctionRecord) -> None:
        """Elaborate a called function in place: a small one, and any in pipelined and unrolled loops."""
        if callee.name in self._inlining:
            raise UnsupportedOpError(f"Function {callee.name} calls itself.", op.place)
        for number, value in zip(callee.args, op.operands, strict=True):
            self.env[number] = self.env[value]
        self._inlining.append(callee.name)
        for inner in callee.ops:
            for result in inner.results:
                self.env.pop(result, None)
        self.ops(callee.ops)
        self._inlining.pop()
        for value, returned in zip(op.results, _return_operands(callee), strict=True):
            self.env[value] = self.env[returned]


def _alloc_record(op: Op, value: int, kind: MemType, attrs: dict[str, Any]) -> Op:
    return Op("memref.alloc", [], [value], [], [kind], attrs, [], [], op.place)


def _return_operands(record: FunctionRecord) -> list[int]:
    final = next((op for op in record.ops if op.name == "func.return"), None)
    return final.operands if final else []


Elaborator.handlers = {
    **STRAIGHT_HANDLERS,
    "affine.for": Elaborator.loop,
    "scf.for": Elaborator.loop,
    "affine.if": Elaborator._if,
    "scf.if": Elaborator._if,
    "scf.while": Elaborator._while,
    "func.call": Elaborator._call,
}
