"""Two calls, of which the second takes the result of the first, as one call of one function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import string_attribute, terminator, walk
from allo.dialects.affine.substitute import rebuild
from allo.dialects.core.signature import (
    callee_of,
    entry_of,
    functions_of,
    sign,
    signature_of,
    symbol,
)
from allo.dialects.text.free_name import free_name
from allo.frontend.kernel_module import ValueInfo
from allo.schedule.bands import bands_of
from allo.schedule.resolve import buffers_of

from ..state import ModelState


def merge_calls(s: ModelState, first: ir.Operation, second: ir.Operation) -> list[ir.Operation]:
    """Put what the second call does behind what the first does; the operations that came into its function.

    The function of the first call, which no other call has, takes the arguments of both and returns what the
    second returned. One call of it stands in the place of the second.

    Args:
        s: the model's schedule.
        first: a call with one result, which only the second call takes.
        second: the other call.
    """
    table = functions_of(s.module)
    function, other = table[callee_of(first)], table[callee_of(second)]
    between = first.results[0]
    name, last = symbol(function), symbol(other)
    own, theirs = s.weights_of.get(name, []), s.weights_of.get(last, [])
    arguments = _Arguments(s, function, first, len(own))
    inputs = len(second.operands) - len(theirs)
    passed = [
        arguments.taken(other, second, position, is_input=position < inputs)
        for position, operand in enumerate(second.operands)
        if operand != between
    ]
    whole = terminator(entry_of(function)).operands[0]
    rest = iter(passed)
    values = [whole if v == between else arguments.value(next(rest)) for v in second.operands]
    added = _append(function, other, values, arguments.names)
    arguments.order()
    _name_reads(function)
    if own or theirs:
        s.weights_of[name] = [*own, *(w for w in theirs if w not in own)]
    known = s.kernel.functions
    calls = dict.fromkeys([*known[name].calls, *known[last].calls])
    known[name] = replace(
        known[name], args=arguments.infos(), results=known[last].results, calls=list(calls)
    )
    rebuild(second, arguments.operands(), {"callee": ir.FlatSymbolRefAttr.get(name)})
    first.erase()
    function.move_before(other)
    _reorder(s)
    return added


class _Arguments:
    """The arguments of the function while it grows: inputs, then weights.

    Attributes:
        names: of arguments and arrays of the function.
    """

    names: set[str]

    def __init__(
        self, s: ModelState, function: ir.Operation, call: ir.Operation, weights: int
    ) -> None:
        self._s = s
        self._function = function
        signature = signature_of(function)
        info = s.kernel.functions[symbol(function)]
        self._listed: list[tuple[ir.Value, str, str, ValueInfo]] = list(
            zip(call.operands, signature.names, signature.declared, info.args, strict=True)
        )
        self.names = set(buffers_of(function))
        count = len(self._listed)
        self._is_input = [position < count - weights for position in range(count)]

    def taken(
        self, other: ir.Operation, call: ir.Operation, position: int, *, is_input: bool
    ) -> int:
        """The number of the argument for an operand of the second call: one that is there, or a new one."""
        operand = call.operands[position]
        for number, (known, *_) in enumerate(self._listed):
            if known == operand:
                return number
        signature = signature_of(other)
        info = self._s.kernel.functions[symbol(other)].args[position]
        name = _free(signature.name(position), self.names)
        entry_of(self._function).add_argument(operand.type, self._function.location)
        self._listed.append((operand, name, signature.declared[position], replace(info, name=name)))
        self._is_input.append(is_input)
        return len(self._listed) - 1

    def value(self, number: int) -> ir.Value:
        """The argument in the function."""
        return entry_of(self._function).arguments[number]

    def order(self) -> None:
        """Put the inputs before the weights, and write the signature."""
        count = len(self._listed)
        wanted = sorted(range(count), key=lambda k: not self._is_input[k])
        block = entry_of(self._function)
        if wanted != list(range(count)):
            for number in wanted:
                old = block.arguments[number]
                new = block.add_argument(old.type, self._function.location)
                old.replace_all_uses_with(new)
            for number in reversed(range(count)):
                block.erase_argument(number)
            self._listed = [self._listed[k] for k in wanted]
        declared = [text for _, _, text, _ in self._listed]
        sign(self._function, [name for _, name, *_ in self._listed], declared)

    def operands(self) -> list[ir.Value]:
        """What a call passes."""
        return [value for value, *_ in self._listed]

    def infos(self) -> list[ValueInfo]:
        """What is known of each."""
        return [info for *_, info in self._listed]


def _append(
    function: ir.Operation, other: ir.Operation, values: Sequence[ir.Value], names: set[str]
) -> list[ir.Operation]:
    """Put a copy of the other function's body behind the body, and return what that returned."""
    end = terminator(entry_of(function))
    copy = other.clone(ir.InsertionPoint(other)).operation
    block = entry_of(copy)
    for argument, value in zip(block.arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    moved = [op.operation for op in block.operations]
    _rename(function, moved[:-1], names)
    for op in moved[:-1]:
        op.move_before(end)
    rebuild(end, list(moved[-1].operands), {})
    for attribute in ("res_types", "otypes"):
        if attribute in copy.attributes:
            function.attributes[attribute] = copy.attributes[attribute]
    copy.erase()
    return moved[:-1]


def _rename(function: ir.Operation, added: Sequence[ir.Operation], names: set[str]) -> None:
    """Give arrays and nests that come into a function names that it does not have yet."""
    inside = [op for root in added for op in (root, *walk(root))]
    bands = {band.name for band in bands_of(function)}
    bands |= {name for op in walk(function) if (name := string_attribute(op, "op_name"))}
    for op in inside:
        band = string_attribute(op, "op_name")
        if band is not None:
            op.attributes["op_name"] = ir.StringAttr.get(_free(band, bands))
        if op.name in ("memref.alloc", "func.call") and len(op.results) == 1:
            name, kind = string_attribute(op, "name"), op.results[0].type
            if name is not None and isinstance(kind, ir.MemRefType) and kind.rank:
                op.attributes["name"] = ir.StringAttr.get(_free(name, names))


def _name_reads(function: ir.Operation) -> None:
    """Let each access of an array say its name as it is now."""
    names = signature_of(function).names
    for op in walk(function):
        for attribute, position in (("from", 0), ("to", 1)):
            if attribute not in op.attributes or op.name not in ("affine.load", "affine.store"):
                continue
            array = op.operands[position]
            if isinstance(array, ir.BlockArgument):
                op.attributes[attribute] = ir.StringAttr.get(names[array.arg_number])
            elif array.owner.operation.name in ("memref.alloc", "func.call"):
                name = string_attribute(array.owner.operation, "name")
                if name is not None and "," not in name:
                    op.attributes[attribute] = ir.StringAttr.get(name)


def _free(wanted: str, taken: set[str]) -> str:
    name = free_name(wanted, taken)
    taken.add(name)
    return name


def _reorder(s: ModelState) -> None:
    """List the functions in the order of the module, callees before callers."""
    known = s.kernel.functions
    order: Iterable[str] = [name for name in functions_of(s.module) if name in known]
    rest = [name for name in known if name not in order]
    infos = {name: known[name] for name in [*order, *rest]}
    known.clear()
    known.update(infos)
