"""Sums of an address's terms: what comes late is added last, and every order gives the same sum."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.emit.addresses.sums import LinearSums
from allo.backend.rtl.emit.builder import ModuleBuilder
from allo.backend.rtl.graph.linear import split_multiples
from allo.backend.rtl.graph.nodes import Lin, Node
from allo.backend.rtl.netlist.locations import Locations
from allo.backend.rtl.netlist.operations import Concat, Constant, Extract, Operation, Replicate
from allo.designs.networks.quantized import joined_halved


def drawn(seed: int) -> tuple[Node, dict[int, float], list[int]]:
    """A random expression of unsigned and signed values, when each value is there, and the values."""
    r = random.Random(seed)
    terms, late, values = [], {}, []
    for number in range(1, r.randint(2, 6)):
        width, signed = r.randint(1, 9), r.random() < 0.3
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        symbol = Node(number, "iv", width, low=low, high=high)
        terms.append((symbol, r.choice([1, 1, 2, 3, 5, 60, 171, -1, -1, -3, -14])))
        late[number] = r.choice([0.0, 0.0, 0.5, 1.0, 2.0])
        values.append(r.randint(low, high))
    data = Lin(r.choice([0, 0, 1, 7, -5, 255]), tuple(terms))
    return Node(99, "lin", r.randint(3, 12), data=data), late, values


def emitted(node: Node, late: dict[int, float]) -> tuple[list[Operation], list[str], str]:
    """The operations of a sum, the names of its operands and of its result."""
    text = ModuleBuilder("m", Locations())
    sums = LinearSums(text, lambda bits: 0.4, lambda symbol, _: late[symbol.number])
    names = [f"%v{symbol.number}" for symbol, _ in node.data.terms]
    result = sums.emit(node, names)
    return [op for op in text._made if isinstance(op, Operation)], names, result


def computed(op: Operation, known: dict[str, int]) -> int:
    """The value of an operation, by the meaning of its name in CIRCT."""
    given = [known[name] for name in op.operands]
    if isinstance(op, Constant):
        return op.value
    if isinstance(op, Extract):
        return given[0] >> op.low & (1 << op.width) - 1
    if isinstance(op, Replicate):
        return sum(given[0] << op.of * k for k in range(op.width // op.of))
    if isinstance(op, Concat):
        total = 0
        for value, width in zip(given, op.widths, strict=True):
            total = total << width | value
        return total
    a, b = given
    kind = op.text().split()[2]
    total = {"comb.add": a + b, "comb.sub": a - b, "comb.mul": a * b}[kind]
    return total % (1 << op.width)


def right(seed: int) -> bool:
    node, late, values = drawn(seed)
    ops, names, result = emitted(node, late)
    known = {
        name: value % (1 << symbol.width)
        for name, value, (symbol, _) in zip(names, values, node.data.terms, strict=True)
    }
    for op in ops:
        known[op.result] = computed(op, known)
    wanted = node.data.const + sum(
        factor * value for value, (_, factor) in zip(values, node.data.terms, strict=True)
    )
    return known[result] == wanted % (1 << node.width)


def test_every_order_gives_the_sum():
    assert all(right(seed) for seed in range(400))


def test_a_sign_that_is_lost_is_seen(monkeypatch: pytest.MonkeyPatch):
    def added(self: LinearSums, a: Any, b: Any, node: Node) -> Any:
        return a._replace(value=self._text.binary("add", a.value, b.value, node.width))

    monkeypatch.setattr(LinearSums, "_sum", added)
    assert sum(not right(seed) for seed in range(400)) > 50


def adders_behind(ops: list[Operation], name: str) -> int:
    """The longest way of adders from a value on."""
    behind = {name: 0}
    for op in ops:
        inside = [behind[o] for o in op.operands if o in behind]
        if inside:
            behind[op.result] = max(inside) + int(op.text().split()[2] in ("comb.add", "comb.sub"))
    return max(behind.values())


@pytest.mark.parametrize("place", range(6))
def test_one_adder_stands_behind_a_late_term(place: int):
    terms = tuple((Node(n + 1, "iv", 8, high=255), 1) for n in range(6))
    node = Node(99, "lin", 12, data=Lin(0, terms))
    late = dict.fromkeys(range(1, 7), 0.0) | {place + 1: 2.0}
    ops, names, _ = emitted(node, late)
    assert adders_behind(ops, names[place]) == 1
    ops, names, _ = emitted(node, dict.fromkeys(range(1, 7), 0.0))
    assert adders_behind(ops, names[place]) > 1 or place == 5


def test_late_terms_are_added_to_each_other_as_they_come():
    terms = tuple((Node(n + 1, "iv", 8, high=255), 1) for n in range(6))
    node = Node(99, "lin", 12, data=Lin(0, terms))
    ops, names, _ = emitted(node, {1: 2.0, 2: 2.0, 3: 2.0, 4: 2.0, 5: 0.0, 6: 0.0})
    assert max(adders_behind(ops, name) for name in names[:4]) == 3


@pytest.mark.parametrize("seed", range(20))
def test_multiples_of_a_divisor_are_split_off(seed: int):
    r = random.Random(seed)
    divisor = r.randint(2, 12)
    nodes = [Node(n, "iv", 8, high=255) for n in range(1, 5)]
    a = Lin(r.randint(-50, 50), tuple((node, r.randint(-30, 30) or 1) for node in nodes))
    whole, rest = split_multiples(a, divisor)
    assert all(abs(factor) < divisor for _, factor in rest.terms)
    at = {node.number: r.randint(0, 255) for node in nodes}

    def value(e: Lin) -> int:
        return e.const + sum(factor * at[node.number] for node, factor in e.terms)

    assert value(a) == divisor * value(whole) + value(rest)


def test_banks_of_two_dimensions_keep_the_clock():
    """The multiple of a quotient in an address is a register: 240 MHz where one cycle adds up its digits."""
    s = allo.customize(joined_halved, instantiate=[32, 16, 16, 11, 10])
    s.unroll("x", factor=4)
    s.pipeline("x")
    for array, factors in ((s.S, (13, 2, 4)), (s.T, (19, 1, 4)), (s.Y, (3, 2, 4))):
        for dim, factor in enumerate(factors, 1):
            if factor > 1:
                s.partition(array, Partition.Cyclic, dim, factor)
    module = s.build(target="verilog", simulator="jit", device="xcup", clock_mhz=300)
    rng = np.random.default_rng(3)
    S, T = rng.integers(-(10**5), 10**5, (2, 32, 16, 16)).astype(np.int32)
    b, d = rng.integers(-(10**4), 10**4, (2, 32)).astype(np.int32)
    wanted = np.zeros((32, 18, 18), np.int8)
    added = (S + b[:, None, None] >> 11) + (T + d[:, None, None] >> 10)
    wanted[:, 1:-1, 1:-1] = np.clip(added, 0, 127)
    np.testing.assert_array_equal(module(S, b, T, d), wanted)
    assert module.cycles == module.report.cycles
    assert module.report.fmax_mhz > 300
