"""Checks of the dependences that a user asserts (:mod:`..affine.asserted`), before every access they cover.

Assumes core IR. In front of a loop with assertions stand arrays of the shape of the asserted one. They hold
which iteration touched each element last, and which one before that, so that an access finds the nearest
earlier iteration. Before an access stands then

    %holds = …                                  // no such iteration, or far enough away
    "allo.check_dependence"(%holds, %earlier, %now, %i) {array = "h", loop = "i", kind = "RAW", distance = 0}

which a target turns into what ends the run with :class:`~allo.dialects.diagnostics.DependenceError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..._mlir import ir
from ...affine.asserted import KINDS, Asserted, assertions_of, loops_asserted, marks_of, numbers_of
from ...affine.loops import induction_variable, is_affine_loop, spec_of, string_attribute, walk
from ...affine.maps import BoundMap, bound_map
from ...checked import module_pass
from ...core.bounds import DEPENDENCE_CHECK
from ...core.effects import STORES
from ...core.locations import place_of
from ...core.signature import functions_of
from ...diagnostics import UnsupportedOpError
from .maker import Maker

_BITS = 64
_EQ, _SGE = 0, 5


@module_pass
def check_dependences(module: ir.Module) -> None:
    """Insert the checks, in place.

    Raises:
        UnsupportedOpError: the length of an asserted array is known only when it runs.
    """
    with module.context, ir.Location.unknown():
        for function in functions_of(module).values():
            for loop in loops_asserted(function):
                for asserted in assertions_of(marks_of(loop)):
                    _check(loop, asserted)


def _check(loop: ir.Operation, asserted: Asserted) -> None:
    accesses = [op for op in walk(loop) if asserted.number in numbers_of(op)]
    if not accesses:
        return
    array = accesses[0].operands[STORES.get(accesses[0].name, 0)]
    kind = ir.MemRefType(array.type)
    if not kind.has_static_shape:
        raise UnsupportedOpError(
            f"The dependence asserted on {asserted.array} cannot be checked: the length of the array is "
            "known only when it runs.",
            place_of(loop),
            help="give the array its extents, or build without check_dependences.",
        )
    kinds = [name for name in KINDS if asserted.covers(name)]
    touched = {
        writes: _touched(loop, kind.shape, f"{asserted.array}_{'stored' if writes else 'loaded'}")
        for writes in sorted({KINDS[name][0] for name in kinds})
    }
    for access in accesses:
        writes = access.name in STORES
        maker = _DependenceMaker(access, loop)
        for name in kinds:
            if KINDS[name][1] == writes:
                maker.check(touched[KINDS[name][0]], asserted, name)
        if writes in touched:
            maker.record(touched[writes])


@dataclass(frozen=True, slots=True)
class _Touched:
    """Of every element the iteration, from 1, that touched it last, and the one before that; 0 for none."""

    name: str
    last: ir.Value
    before: ir.Value


def _touched(loop: ir.Operation, shape: Sequence[int], name: str) -> _Touched:
    ip, location = ir.InsertionPoint(loop), loop.location
    word = ir.IntegerType.get_signless(_BITS)
    kind = ir.MemRefType.get(list(shape), word)
    zero = ir.Operation.create(
        "arith.constant",
        [word],
        attributes={"value": ir.IntegerAttr.get(word, 0)},
        loc=location,
        ip=ip,
    ).result
    arrays = []
    for which in ("last", "before"):
        attributes = {
            "name": ir.StringAttr.get(f"{name}_{which}"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
        }
        made = ir.Operation.create(
            "memref.alloc", [kind], attributes=attributes, loc=location, ip=ip
        ).result
        _fill(made, zero, location, ip)
        arrays.append(made)
    return _Touched(name, *arrays)


def _fill(array: ir.Value, value: ir.Value, location: ir.Location, ip: ir.InsertionPoint) -> None:
    op = ir.Operation.create(
        "linalg.fill",
        [],
        [value, array],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])},
        regions=1,
        loc=location,
        ip=ip,
    )
    block = op.regions[0].blocks.append(value.type, value.type, arg_locs=[location] * 2)
    ir.Operation.create(
        "linalg.yield", operands=[block.arguments[0]], loc=location, ip=ir.InsertionPoint(block)
    )


class _DependenceMaker(Maker):
    """Makes the checks in front of an access, and notes what it touches."""

    def __init__(self, access: ir.Operation, loop: ir.Operation) -> None:
        super().__init__(access)
        self._access = access
        self._loop = loop
        self._word: ir.Type = ir.IntegerType.get_signless(_BITS)
        self._now = self._number()

    def check(self, touched: _Touched, asserted: Asserted, kind: str) -> None:
        """That no earlier iteration that is too near has touched the element."""
        bit = ir.IntegerType.get_signless(1)
        earlier = self._earlier(touched)
        holds = self.compare(_EQ, earlier, self.constant(0, self._word))
        apart = self.op("arith.subi", self._word, [self._now, earlier])
        if asserted.distance:
            far = self.compare(_SGE, apart, self.constant(asserted.distance, self._word))
            holds = self.op("arith.ori", bit, [holds, far])
        index, iterator = self.index, induction_variable(self._loop)
        steps = self.op("arith.index_cast", index, [apart])
        back = self.op("arith.muli", index, [steps, self._step()])
        source = self.op("arith.subi", index, [iterator, back])
        subscripts = self._subscripts()
        word = ir.IntegerType.get_signless(64)
        ir.Operation.create(
            DEPENDENCE_CHECK,
            [],
            [holds, source, iterator, *subscripts],
            attributes={
                "array": ir.StringAttr.get(asserted.array),
                "loop": ir.StringAttr.get(string_attribute(self._loop, "loop_name") or "loop"),
                "kind": ir.StringAttr.get(kind),
                "distance": ir.IntegerAttr.get(word, asserted.distance),
                "rank": ir.IntegerAttr.get(word, len(subscripts)),
            },
            loc=self.location,
            ip=self.ip,
        )

    def record(self, touched: _Touched) -> None:
        """Note that this iteration touches the element."""
        self._store(self._earlier(touched), touched.before, f"{touched.name}_before")
        self._store(self._now, touched.last, f"{touched.name}_last")

    # --- parts ------------------------------------------------------------------------------

    def _earlier(self, touched: _Touched) -> ir.Value:
        """The last iteration but this one that touched the element."""
        last = self._load(touched.last, f"{touched.name}_last")
        before = self._load(touched.before, f"{touched.name}_before")
        same = self.compare(_EQ, last, self._now)
        return self.op("arith.select", self._word, [same, before, last])

    def _number(self) -> ir.Value:
        """The number of the iteration, from 1."""
        iterator, index = induction_variable(self._loop), self.index
        if is_affine_loop(self._loop):
            lower = spec_of(self._loop).lower
            name = "affine.max" if len(lower.results) > 1 else "affine.apply"
            low = self.op(name, index, lower.operands, map=ir.AffineMapAttr.get(lower.map))
        else:
            low = self._loop.operands[0]
        distance = self.op("arith.subi", index, [iterator, low])
        count = self.op("arith.floordivsi", index, [distance, self._step()])
        word = self.op("arith.index_cast", self._word, [count])
        return self.op("arith.addi", self._word, [word, self.constant(1, self._word)])

    def _step(self) -> ir.Value:
        if not is_affine_loop(self._loop):
            step: ir.Value = self._loop.operands[2]
            return step
        return self.constant(spec_of(self._loop).step)

    def _subscripts(self) -> list[ir.Value]:
        bound, plain = self._places()
        if bound is None:
            return plain
        return [self.applied(bound, position) for position in range(len(bound.results))]

    def _places(self) -> tuple[BoundMap | None, list[ir.Value]]:
        first = STORES.get(self._access.name, 0) + 1
        if self._access.name.startswith("affine."):
            return bound_map(self._access), []
        return None, list(self._access.operands)[first:]

    def _load(self, array: ir.Value, name: str) -> ir.Value:
        bound, plain = self._places()
        attributes: dict[str, ir.Attribute] = {"from": ir.StringAttr.get(name)}
        if bound is None:
            return self.op("memref.load", self._word, [array, *plain], **attributes)
        attributes["map"] = ir.AffineMapAttr.get(bound.map)
        return self.op("affine.load", self._word, [array, *bound.operands], **attributes)

    def _store(self, value: ir.Value, array: ir.Value, name: str) -> None:
        bound, plain = self._places()
        attributes: dict[str, ir.Attribute] = {"to": ir.StringAttr.get(name)}
        operands = [value, array, *(plain if bound is None else bound.operands)]
        if bound is not None:
            attributes["map"] = ir.AffineMapAttr.get(bound.map)
        ir.Operation.create(
            "memref.store" if bound is None else "affine.store",
            [],
            operands,
            attributes=attributes,
            loc=self.location,
            ip=self.ip,
        )
