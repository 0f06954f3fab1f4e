"""Chains of one associative operation, such as ``a + b + c + d``, as balanced trees.

An integer chain may widen from operation to operation, as the language's types do. It is opened
through such a cast where the narrower operation cannot overflow, or where its high bits are cut off in
the end. The result is then the same for all inputs. A float chain rounds otherwise than before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from .._mlir import ir
from ..affine.associative import (
    ASSOCIATIVE,
    DIFFERENCES,
    MODULAR,
    Operand,
    combine,
    family_of,
    tree,
)
from ..ranges.interval import OF_ARITH, Interval, combined, of_bits, within

WIDENING = ("arith.extsi", "arith.extui")
_SUMS_AND_PRODUCTS = ("arith.addi", "arith.muli")
SHORTEST = 3
"""A chain of fewer operands is a tree already."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An operand of a chain; ``cast`` widens it where the tree computes in a wider type."""

    value: ir.Value
    cast: str
    negative: bool


@dataclass(slots=True)
class _Chain:
    """A chain with its operands from left to right.

    Attributes:
        root: its last operation.
        cut: the truncation that alone uses the result, if one does.
        inner: the operations that it opens, each before those that it uses.
        casts: those of operands that serve nothing else.
        stored: which operand is the element that the result is stored to.
    """

    root: ir.Operation
    family: str
    cut: ir.Operation | None
    operands: list[_Leaf] = field(default_factory=list)
    inner: list[ir.Operation] = field(default_factory=list)
    casts: list[ir.Operation] = field(default_factory=list)
    depth: int = 0
    stored: int | None = None

    @property
    def kept(self) -> int | None:
        """How many low bits of the result are used; None for all."""
        return None if self.cut is None else int(self.cut.result.type.width)

    @property
    def is_balanced(self) -> bool:
        """Whether a tree of its operands would be no better."""
        count = len(self.operands)
        if count < SHORTEST:
            return True
        if self.stored is None:
            return self.depth <= (count - 1).bit_length()
        last = [_unwidened(v) for v in self.root.operands]
        direct = self.operands[self.stored].value in last
        return direct and self.depth <= 1 + (count - 2).bit_length()


def balance_chains(
    operations: Iterable[ir.Operation], families: Collection[str] = ASSOCIATIVE
) -> int:
    """Rewrite the chains that end in these operations as balanced trees, and count the rewritten.

    A chain that updates a stored element, as in ``x = x + a + b + c``, has this element added last.
    """
    taken: set[ir.Operation] = set()
    chains: list[_Chain] = []
    for op in reversed(list(operations)):
        if op in taken or family_of(op.name) not in families:
            continue
        chain = _chain_of(op)
        taken.update(chain.inner)
        if not chain.is_balanced:
            chains.append(chain)
    for chain in chains:
        _rewrite(chain)
    return len(chains)


# --- what a chain is -------------------------------------------------------------------------


def _chain_of(op: ir.Operation) -> _Chain:
    family = family_of(op.name) or op.name
    user = single_user(op.result)
    cuts = family in MODULAR and user is not None and user.name == "arith.trunci"
    chain = _Chain(op, family, user if cuts else None)
    _open(chain, op, "", False, 1)
    chain.stored = _stored(chain)
    return chain


def _open(chain: _Chain, op: ir.Operation, widened: str, negative: bool, depth: int) -> None:
    """Collect the operands of an operation of the chain; ``widened`` is the cast around it."""
    chain.depth = max(chain.depth, depth)
    for position, value in enumerate(op.operands):
        minus = negative != (position == 1 and op.name in DIFFERENCES)
        below = _maker(value)
        if below is not None and _opens(chain, below):
            chain.inner.append(below)
            _open(chain, below, widened, minus, depth + 1)
            continue
        if below is None or below.name not in WIDENING:
            chain.operands.append(_Leaf(value, widened, minus))
            continue
        inner = _maker(below.operands[0])
        alone = single_user(value) is not None
        if inner is not None and alone and _opens(chain, inner) and _passes(chain, inner, below):
            chain.inner += [below, inner]
            _open(chain, inner, below.name, minus, depth + 1)
        else:
            chain.operands.append(_Leaf(below.operands[0], below.name, minus))
            if alone:
                chain.casts.append(below)


def _opens(chain: _Chain, op: ir.Operation) -> bool:
    return bool(
        family_of(op.name) == chain.family
        and op.block == chain.root.block
        and single_user(op.result) is not None
    )


def _passes(chain: _Chain, op: ir.Operation, cast: ir.Operation) -> bool:
    """Whether the value of an operation, widened, is what the wider type would have computed."""
    if chain.family not in MODULAR:
        return False
    width = int(op.result.type.width)
    if chain.kept is not None and chain.kept <= width:
        return True
    if chain.family not in _SUMS_AND_PRODUCTS:
        return False
    span = _span(op)
    return within(span, of_bits(width, signed=cast.name != "arith.extui"))


def _span(op: ir.Operation) -> Interval:
    """What a sum or product of two operands is not outside of, before it is cut to its type."""
    found = combined(OF_ARITH[op.name], *(_span_of(v) for v in op.operands))
    return found or of_bits(int(op.result.type.width))


def _span_of(value: ir.Value) -> Interval:
    """The range of an operand by its type, or by the type that it was widened from."""
    maker = _maker(value)
    if maker is None or maker.name not in WIDENING:
        return of_bits(int(value.type.width))
    width = int(maker.operands[0].type.width)
    return of_bits(width, signed=maker.name == "arith.extsi")


def _stored(chain: _Chain) -> int | None:
    user = single_user((chain.cut or chain.root).result)
    if user is None or user.name != "affine.store":
        return None
    element = (list(user.operands)[1:], user.attributes["map"])
    for position, leaf in enumerate(chain.operands):
        load = _maker(leaf.value)
        if load is None or load.name != "affine.load" or leaf.negative:
            continue
        if (list(load.operands), load.attributes["map"]) == element:
            return position
    return None


def single_user(value: ir.Value) -> ir.Operation | None:
    """The operation that alone uses a value."""
    users = list(value.uses)
    if len(users) != 1:
        return None
    user: ir.Operation = users[0].owner.operation
    return user


def _maker(value: ir.Value) -> ir.Operation | None:
    if isinstance(value, ir.BlockArgument):
        return None
    maker: ir.Operation = value.owner.operation
    return maker


def _unwidened(value: ir.Value) -> ir.Value:
    maker = _maker(value)
    return value if maker is None or maker.name not in WIDENING else maker.operands[0]


# --- the tree --------------------------------------------------------------------------------


def _rewrite(chain: _Chain) -> None:
    end = chain.cut or chain.root
    kind, location, ip = end.result.type, chain.root.location, ir.InsertionPoint(end)
    operands = [
        Operand(_as_type(leaf, kind, location, ip), leaf.negative) for leaf in chain.operands
    ]
    last = None if chain.stored is None else operands.pop(chain.stored)
    total = tree(chain.family, operands, location, ip)
    value = total.value
    if last is not None:
        name = chain.family
        if total.negative:
            name = next(n for n, sum_ in DIFFERENCES.items() if sum_ == name)
        value = combine(name, last.value, value, location, ip)
    end.result.replace_all_uses_with(value)
    if chain.cut is not None:
        chain.cut.erase()
    for op in (chain.root, *chain.inner, *chain.casts):
        op.erase()


def _as_type(leaf: _Leaf, kind: ir.Type, location: ir.Location, ip: ir.InsertionPoint) -> ir.Value:
    """An operand in the type of the tree."""
    if leaf.value.type == kind:
        return leaf.value
    wider = int(leaf.value.type.width) < int(kind.width)
    name = leaf.cast if wider else "arith.trunci"
    return ir.Operation.create(name, [kind], [leaf.value], loc=location, ip=ip).result
