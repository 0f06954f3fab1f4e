"""Functions of the core IR: names, calls, types and declared types, read and written in one place.

A function says three things of each argument (``docs/internals/core_ir.md``): its MLIR type, the user's name
and the type the user declared. :func:`signature_of` reads them together; :func:`sign` writes them
after a pass has changed the arguments of the entry block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .._mlir import ir
from ..diagnostics import BuildError
from ..types import parse_type, signedness_letter
from .locations import place_of


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes and gives.

    Attributes:
        inputs, results: the MLIR types.
        names: the user's names of the arguments; ``""`` where the function has none.
        declared, returned: the declared types of arguments and results as text; ``""`` where the
            function has none.
        defaults: the numbers that arguments have where a call leaves them out, by name.
    """

    inputs: tuple[ir.Type, ...]
    results: tuple[ir.Type, ...]
    names: tuple[str, ...]
    declared: tuple[str, ...]
    returned: tuple[str, ...]
    defaults: Mapping[str, int | float] = field(default_factory=dict)

    def name(self, position: int) -> str:
        """The user's name of an argument, or ``arg0``, ``arg1`` and so on."""
        return self.names[position] or f"arg{position}"


def signature_of(function: ir.Operation | ir.OpView) -> Signature:
    """The signature of a function, with or without a body.

    Raises:
        BuildError: an attribute has another length than the arguments or results.
    """
    kind = function_type(function)
    inputs, results = tuple(kind.inputs), tuple(kind.results)
    return Signature(
        inputs,
        results,
        _texts(function, "arg_names", len(inputs)),
        _texts(function, "arg_types", len(inputs)),
        _texts(function, "res_types", len(results)),
        _defaults(function),
    )


def _defaults(function: ir.Operation | ir.OpView) -> dict[str, int | float]:
    attributes = function.operation.attributes
    if "arg_defaults" not in attributes:
        return {}
    found = ir.DictAttr(attributes["arg_defaults"])
    texts = {named.name: str(ir.StringAttr(named.attr).value) for named in found}
    return {name: _number(text) for name, text in texts.items()}


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _texts(function: ir.Operation | ir.OpView, attribute: str, count: int) -> tuple[str, ...]:
    attributes = function.operation.attributes
    if attribute not in attributes:
        return ("",) * count
    found = tuple(ir.StringAttr(entry).value for entry in ir.ArrayAttr(attributes[attribute]))
    if len(found) != count:
        raise BuildError(
            f"Attribute {attribute} has {len(found)} entries, the function {count}.",
            place_of(function),
        )
    return found


def function_type(function: ir.Operation | ir.OpView) -> ir.FunctionType:
    """The type of a function."""
    return ir.FunctionType(ir.TypeAttr(function.operation.attributes["function_type"]).value)


def symbol(op: ir.Operation | ir.OpView) -> str:
    """The name of a function or a global."""
    return str(ir.StringAttr(op.operation.attributes["sym_name"]).value)


def callee_of(call: ir.Operation | ir.OpView) -> str:
    """The name of the function that is called."""
    return str(ir.FlatSymbolRefAttr(call.operation.attributes["callee"]).value)


def functions_of(module: ir.Module | ir.Operation) -> dict[str, ir.Operation]:
    """The functions of a module by name, in order."""
    return {
        symbol(op): op.operation
        for op in module.operation.regions[0].blocks[0].operations
        if op.operation.name == "func.func"
    }


def has_body(function: ir.Operation | ir.OpView) -> bool:
    """Whether a function is more than a declaration."""
    return len(function.operation.regions[0].blocks) > 0


def entry_of(function: ir.Operation | ir.OpView) -> ir.Block:
    """The block whose arguments are the function's."""
    return function.operation.regions[0].blocks[0]


@dataclass(frozen=True, slots=True)
class Declared:
    """An argument as the user's function declares it, where passes gave the function another.

    Attributes:
        name: the user's name.
        holder: the name of the argument that now holds it.
        kind: its declared type in MLIR, that of a slice where calls pass slices.
        dims: for each dimension of ``kind`` its dimension of the holder's array, counted from 0.
    """

    name: str
    holder: str
    kind: ir.Type
    dims: tuple[int, ...]


def declared_arguments(function: ir.Operation) -> list[Declared]:
    """The arguments that a function declares, in order."""
    signature = signature_of(function)
    if "declared" not in function.attributes:
        pairs = zip(map(signature.name, range(len(signature.names))), signature.inputs, strict=True)
        return [Declared(name, name, kind, _all_dims(kind)) for name, kind in pairs]
    return [
        Declared(
            ir.StringAttr(entry["name"]).value,
            ir.StringAttr(entry["holder"]).value,
            ir.TypeAttr(entry["kind"]).value,
            tuple(ir.DenseI64ArrayAttr(entry["dims"])),
        )
        for entry in map(ir.DictAttr, ir.ArrayAttr(function.attributes["declared"]))
    ]


def keep_declared(function: ir.Operation, arguments: Iterable[Declared]) -> None:
    """Note what a function declares before its arguments change."""
    entries = [
        {
            "name": ir.StringAttr.get(argument.name),
            "holder": ir.StringAttr.get(argument.holder),
            "kind": ir.TypeAttr.get(argument.kind),
            "dims": ir.DenseI64ArrayAttr.get(argument.dims),
        }
        for argument in arguments
    ]
    function.attributes["declared"] = ir.ArrayAttr.get([ir.DictAttr.get(e) for e in entries])


def _all_dims(kind: ir.Type) -> tuple[int, ...]:
    return tuple(range(ir.MemRefType(kind).rank)) if isinstance(kind, ir.MemRefType) else ()


def function_around(op: ir.Operation) -> ir.Operation:
    """The function that an operation stands in."""
    while op.name != "func.func":
        op = op.parent.operation
    return op


def argument_name(argument: ir.BlockArgument) -> str:
    """The user's name of an argument of a function's entry block."""
    return signature_of(argument.owner.owner).name(argument.arg_number)


def declared_type(function: ir.Operation, value: ir.Value) -> str:
    """The declared type, as text, of an array's element or a scalar of ``function``."""
    if isinstance(value, ir.BlockArgument):
        declared = ""
        if value.owner == entry_of(function):
            declared = signature_of(function).declared[value.arg_number]
        return declared or _plain(value.type, unsigned=False)
    attributes = value.owner.operation.attributes
    if "dtype" in attributes:
        return str(ir.StringAttr(attributes["dtype"]).value)
    return _plain(value.type, unsigned="unsigned" in attributes)


def _plain(kind: ir.Type, *, unsigned: bool) -> str:
    element = kind.element_type if isinstance(kind, ir.MemRefType) else kind
    return f"u{element}" if unsigned else str(element)


def refresh_types(functions: Iterable[ir.Operation]) -> None:
    """Make each function's type agree with its arguments and returned values."""
    for function in filter(has_body, functions):
        block = entry_of(function)
        operations = block.operations
        returned = operations[len(operations) - 1].operation.operands
        made = ir.TypeAttr.get(
            ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in returned])
        )
        if function.attributes["function_type"] != made:
            function.attributes["function_type"] = made


def sign(function: ir.Operation, names: Sequence[str], declared: Sequence[str]) -> None:
    """Write the names, declared types and type of a function whose arguments changed.

    A function that declared nothing, and is given nothing but ``""``, goes on declaring nothing.
    """
    refresh_types([function])
    attributes = function.attributes
    attributes["arg_names"] = string_array(names)
    if any(declared) or not declared or "arg_types" in attributes:
        attributes["arg_types"] = string_array(declared)
        attributes["itypes"] = ir.StringAttr.get("".join(map(_letter, declared)))
    if "arg_attrs" in attributes:
        del attributes["arg_attrs"]


def _letter(declared: str) -> str:
    return signedness_letter(parse_type(declared)) if declared else "_"


def string_array(texts: Iterable[str]) -> ir.ArrayAttr:
    """An array attribute of texts."""
    return ir.ArrayAttr.get([ir.StringAttr.get(text) for text in texts])
