"""What of a nest decides which elements of an array it uses: the part that can run ahead of the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .._mlir import ir
from ..affine.loops import string_attribute, walk
from ..streams.processes import is_pure
from .runs import IrregularError

LOADS = ("affine.load", "memref.load")
STORES = ("affine.store", "memref.store")
_GET = "allo.get"
_BLOCKS = ("affine.for", "affine.if", "scf.for", "scf.if")


class Requests:
    """The slice of a nest that computes the subscripts of an array.

    Attributes:
        accesses: the loads and stores of the array, in order.
        kept: the operations of the slice, these accesses among them.
        carried: operations of the slice that load other arrays, or get words of streams: they run once, and
            the rest of the nest is handed what they give.

    Raises:
        IrregularError: what computes the subscripts cannot run ahead.
    """

    def __init__(self, nest: ir.Operation, array: ir.Value) -> None:
        self._nest = nest
        self._look()
        self._merge_loads()
        self._look()
        self.accesses = [op for op in self._order if uses_element(op, array)]
        self.kept: set[ir.Operation] = set()
        self._carried: set[ir.Operation] = set()
        waiting = list(self.accesses)
        while waiting:
            op = waiting.pop()
            if op not in self.kept:
                self.kept.add(op)
                waiting += self._needs(op)
        self.carried = [op for op in self._order if op in self._carried]

    def _look(self) -> None:
        """What is in the nest; the hash of an operation changes with its operands."""
        self._order = [self._nest, *walk(self._nest)]
        self._inside = set(self._order)

    def drop_dead(self) -> None:
        """Erase what the rest of the nest no longer computes anything for, accesses to the array left out."""
        while True:
            _drop_dead(self._nest, {*self.accesses, *self.carried})
            unused = [op for op in self.carried if not list(op.results[0].uses)]
            if not unused:
                return
            self.carried = [op for op in self.carried if op not in unused]
            for op in unused:
                op.erase()

    def _merge_loads(self) -> None:
        """One load in place of several of one element, of an array that the nest only loads."""
        seen: dict[tuple[object, ...], list[ir.Operation]] = {}
        for op in self._order:
            if op.name not in LOADS or self._is_local(op.operands[0]):
                continue
            if any(user.name not in LOADS for user in self._users(op.operands[0])):
                continue
            shown = str(op.attributes["map"]) if "map" in op.attributes else ""
            before = seen.setdefault((op.name, shown, *op.operands), [])
            blocks = _blocks_around(op)
            first = next((each for each in before if each.block in blocks), None)
            if first is None:
                before.append(op)
            else:
                op.results[0].replace_all_uses_with(first.results[0])
                op.erase()

    def _needs(self, op: ir.Operation) -> Iterator[ir.Operation]:
        """What an operation of the slice needs of the nest."""
        if op != self._nest:
            yield op.parent.operation
        if op.regions and (op.name not in _BLOCKS or list(op.results)):
            raise IrregularError("a loop that ends as data decide is around it")
        for value in self._operands(op):
            if isinstance(value, ir.BlockArgument) or value.owner.operation not in self._inside:
                continue
            source = value.owner.operation
            if source in self.accesses:
                raise IrregularError("an element of it decides which one is used next")
            yield source
        if op.name in LOADS and op not in self.accesses:
            yield from self._memory(op)
        elif op.name == _GET:
            self._carried.add(op)
            yield from self._users(op.operands[0])
        elif not op.regions and op not in self.accesses and not self._is_plain(op):
            raise IrregularError(f"{_spoken(op)} decides which element is loaded")

    def _operands(self, op: ir.Operation) -> list[ir.Value]:
        """What is computed for an operation; not the array that it loads, or stores to."""
        operands = list(op.operands)
        if op.name in STORES and op in self.accesses:
            return operands[2:]
        if op.name in LOADS or op.name == _GET:
            return operands[1:]
        return [operands[0], *operands[2:]] if op.name in STORES else operands

    def _memory(self, op: ir.Operation) -> Iterator[ir.Operation]:
        """What decides the element that a load of another array gives."""
        value = op.operands[0]
        users = self._users(value)
        if self._is_local(value):
            if any(user.name not in (*LOADS, *STORES) for user in users):
                raise IrregularError(
                    f"{_name(op)} decides which element is loaded, and is used as a whole"
                )
            yield value.owner.operation
            yield from (user for user in users if user.name in STORES)
            return
        if any(user.name not in LOADS for user in users):
            raise IrregularError(
                f"{_name(op)} decides which element is loaded, and changes meanwhile"
            )
        if not _is_constant(value):
            self._carried.add(op)
            yield from users

    def _users(self, value: ir.Value) -> list[ir.Operation]:
        found = (use.owner.operation for use in value.uses)
        return [op for op in found if op in self._inside]

    def _is_local(self, value: ir.Value) -> bool:
        """Whether an array is declared in the nest."""
        return not isinstance(value, ir.BlockArgument) and value.owner.operation in self._inside

    def _is_plain(self, op: ir.Operation) -> bool:
        return is_pure(op) or op.name in ("memref.alloc", *STORES)


def uses_element(op: ir.Operation, array: ir.Value) -> bool:
    """Whether an operation loads or stores an element of an array."""
    if op.name in LOADS:
        return bool(op.operands[0] == array)
    return op.name in STORES and bool(op.operands[1] == array)


def _blocks_around(op: ir.Operation) -> list[ir.Block]:
    """The blocks that an operation is in, up to that of its function."""
    found = []
    while op.name != "func.func":
        found.append(op.block)
        op = op.parent.operation
    return found


def _drop_dead(nest: ir.Operation, wanted: Collection[ir.Operation]) -> None:
    """Erase of a nest what computes nothing that is used, but for operations that are wanted."""
    while True:
        found = [op for op in reversed(list(walk(nest))) if op not in wanted and _is_dead(op)]
        for op in found:
            op.erase()
        if not found:
            return


def _is_dead(op: ir.Operation) -> bool:
    used = any(list(result.uses) for result in op.results)
    if op.regions:
        blocks = [block for region in op.regions for block in region.blocks]
        return not used and op.name in _BLOCKS and all(len(b.operations) <= 1 for b in blocks)
    if op.name == "memref.alloc":
        return not used
    if op.name in STORES:
        value = op.operands[1]
        owner = None if isinstance(value, ir.BlockArgument) else value.owner.operation
        local = owner is not None and owner.name == "memref.alloc" and owner.block == op.block
        return local and all(use.owner.operation.name in STORES for use in value.uses)
    return not used and bool(op.results) and (is_pure(op) or op.name in LOADS)


def _is_constant(value: ir.Value) -> bool:
    """Whether an array never changes."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "memref.get_global":
        return False
    op = value.owner.operation
    module = op
    while module.name != "builtin.module":
        module = module.parent.operation
    name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
    for each in module.regions[0].blocks[0].operations:
        other = each.operation
        if (
            other.name == "memref.global"
            and ir.StringAttr(other.attributes["sym_name"]).value == name
        ):
            return "constant" in other.attributes
    return False


def _name(op: ir.Operation) -> str:
    return string_attribute(op, "from") or string_attribute(op, "to") or "an array"


def _spoken(op: ir.Operation) -> str:
    return "a call" if op.name == "func.call" else f"an operation {op.name}"
