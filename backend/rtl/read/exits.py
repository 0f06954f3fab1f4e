"""Loops that are left early: what ends them, and what an iteration leaves if another one follows.

The frontend writes ``break`` and ``return`` as flags. All work of a loop stands under a condition on
flags, and once it does not hold it never will again: iterations from then on do nothing.
"""

from __future__ import annotations

from collections import defaultdict

from ..graph.nodes import Body, Node
from ..graph.regions import Exit, Guess
from .records import MemType, Op
from .values import glue
from .values.arithmetic import is_pure
from .values.assume import Facts, Simplifier, assume
from .values.builder import Builder

Slot = tuple[int, int]
"""A register: the numbers of its array and bank."""


def guard_of(chain: list[Op]) -> Op | None:
    """The condition around all work of a nest that holds no more once it does not hold.

    It depends on scalar variables and on what is computed before the nest, so work alone changes it.
    """
    ops = [op for op in chain[-1].regions[0] if not op.name.endswith(".yield")]
    if not ops or ops[-1].name != "scf.if" or any(ops[-1].regions[1:]):
        return None
    guard, before = ops[-1], {result: op for op in ops[:-1] for result in op.results}
    inside = {loop.args[0][0] for loop in chain}
    for loop in chain[:-1]:
        inside.update(result for op in loop.regions[0] for result in op.results)
    if not all(is_pure(op) or _reads_scalar(op) for op in ops[:-1]):
        return None
    stack = list(guard.operands)
    while stack:
        value = stack.pop()
        if value in inside:
            return None
        if value in before and is_pure(before[value]):
            stack += before[value].operands
    return guard


def _reads_scalar(op: Op) -> bool:
    kind = op.operand_types[0] if op.operand_types else None
    return op.name == "affine.load" and isinstance(kind, MemType) and not kind.shape


def exit_of_guard(builder: Builder, conditions: list[Node]) -> Exit | None:
    """The exit of the loop whose body a builder has filled.

    Args:
        conditions: the guard's, of each copy of the loop's body in turn.
    """
    if not conditions or any(node.kind == "const" for node in conditions):
        return None
    ends = _changed(builder.body, assume([(conditions[0], 1)]))
    return _exit(builder, conditions[-1], ends)


def exit_of_while(builder: Builder, condition: Node, *, bare: bool) -> Exit:
    """The exit of a while loop; ``bare``: its condition only computes."""
    facts = assume([(condition, 1)])
    return _exit(builder, condition, _changed(builder.body, facts) if bare else [])


def _changed(body: Body, facts: Facts) -> list[tuple[Node, int]]:
    """Bits that registers get, with the values that they need for the next iteration to work."""
    stores, loads = _registers(body)
    found = []
    for slot, reads in loads.items():
        needed = facts.get(reads[0].number)
        written = stores.get(slot)
        if needed is None or written is None or written.access is None or reads[0].width != 1:
            continue
        assert written.access.data is not None
        found.append((written.access.data, needed))
    return found


def _exit(builder: Builder, goes_on: Node, needed: list[tuple[Node, int]]) -> Exit:
    ends = builder.negate(goes_on)
    for node, value in needed:
        differs = builder.negate(node) if value else node
        ends = _either(builder, ends, differs)
    body = builder.body
    guesses = _guesses(builder, assume([(goes_on, 1), *needed]))
    stores = {guess.store.number for guess in guesses}
    found = Exit(builder.add_node("exit", 1, (ends,)), guesses)
    # What is written last comes last: it may then be computed from all that was added.
    body.nodes.sort(key=lambda node: node.number in stores)
    return found


def _either(builder: Builder, a: Node, b: Node) -> Node:
    for one, two in ((a, b), (b, a)):
        if one.kind == "const":
            return one if one.data else two
    return a if a is b else builder.op(glue.gate("or"), (a, b))


def _guesses(builder: Builder, facts: Facts) -> list[Guess]:
    stores, loads = _registers(builder.body)
    rows = list(stores.items())
    finals = []
    for _, store in rows:
        assert store.access is not None and store.access.data is not None
        finals.append(store.access.data)
    guesses = []
    following = Simplifier(builder, facts).run(finals)
    for (slot, store), final, guess in zip(rows, finals, following, strict=True):
        reads = loads.get(slot, [])
        if reads and guess.kind == "const" and facts.get(reads[0].number) == guess.data:
            guess = reads[0]
        guesses.append(Guess(store, reads, final, guess))
    return guesses


def _registers(body: Body) -> tuple[dict[Slot, Node], dict[Slot, list[Node]]]:
    """The write and the reads of each register that a body writes once, after all reads."""
    stores: dict[Slot, list[Node]] = defaultdict(list)
    loads: dict[Slot, list[Node]] = defaultdict(list)
    unclear: set[int] = set()
    for node in body.nodes:
        access = node.access
        if access is None or access.array.storage != "reg" or access.array.constant:
            continue
        if access.bank is None or access.predicate is not None:
            unclear.add(access.array.number)
            continue
        slot = access.array.number, access.bank
        if node.kind == "store":
            stores[slot].append(node)
        else:
            loads[slot].append(node)
            if stores[slot]:
                unclear.add(slot[0])
    once = {
        slot: nodes[0]
        for slot, nodes in stores.items()
        if len(nodes) == 1 and slot[0] not in unclear
    }
    return once, loads
