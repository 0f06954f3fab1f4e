"""Give the top function ports of its own: arrays are copied into local buffers and back.

Before::

    func.func @top(%A: memref<4x4xf32>) -> memref<4x4xf32>

After (``flatten=True``)::

    func.func @load_buf0(%port: memref<16xf32>, %buffer: memref<4x4xf32>)
    func.func @store_res1(%buffer: memref<4x4xf32>, %port: memref<16xf32>)
    func.func @top(%A: memref<16xf32>) -> memref<16xf32> {
      %buf0 = memref.alloc() {name = "buf0"} : memref<4x4xf32>
      call @load_buf0(%A, %buf0)
      %res1 = memref.alloc() {name = "res1"} : memref<16xf32>
      …
      call @store_res1(%C, %res1)
      return %res1

Assumes that the top function returns at its end. Partition stays with the buffers; ports have
none. The functions that move data carry the unit attribute ``io``. Arguments that are only
written are not loaded when every element surely is. An array of any length stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from .._mlir import ir
from ..checked import module_pass
from ..core.signature import functions_of, refresh_types, signature_of, symbol
from ..text.free_name import free_name
from ..types import Fixed, Stream, Struct, UFixed, UInt, parse_type
from .arg_access import analyze_arg_load_store, writes_everything


def generate_input_output_buffers(
    module: ir.Module,
    top_func_name: str,
    flatten: bool = False,
    mappings: Sequence[object] | None = None,
    kept: Collection[int] = (),
) -> None:
    """Rewrite ``module`` in place; ``flatten`` makes the ports one-dimensional.

    ``mappings`` is accepted as published; every port is moved in row-major order. The arguments at the
    positions ``kept`` stay as they are.
    """
    _wrap(module, top_func_name, flatten, kept)


@module_pass
def _wrap(module: ir.Module, name: str, flatten: bool, kept: Collection[int]) -> None:
    with module.context:
        top = ir.SymbolTable(module.operation)[name].operation
        with top.location:
            _Wrapper(module, top, flatten, kept).run()


class _Wrapper:
    def __init__(
        self, module: ir.Module, top: ir.Operation, flatten: bool, kept: Collection[int]
    ) -> None:
        self.module = module
        self.top = top
        self.flatten = flatten
        self.kept = kept
        self.entry = top.regions[0].blocks[0]
        operations = list(self.entry.operations)
        self.first = operations[0].operation
        self.last = operations[-1].operation

    def run(self) -> None:
        name = symbol(self.top)
        access = analyze_arg_load_store(self.module)[name]
        whole = [
            word == "out" and writes_everything(self.top, k, self.module)
            for k, word in enumerate(access)
        ]
        signature = signature_of(self.top)
        for position, declared in enumerate(signature.declared):
            self._argument(position, access[position], declared, whole[position])
        results = list(self.last.operands)
        for position, (value, declared) in enumerate(zip(results, signature.returned, strict=True)):
            self._result(len(access) + position, position, value, declared)
        refresh_types([self.top])

    def _argument(self, position: int, access: str, declared: str, whole: bool) -> None:
        argument = self.entry.arguments[position]
        if not isinstance(argument.type, ir.MemRefType) or _is_stream(declared):
            return
        if position in self.kept:
            return
        local = ir.MemRefType(argument.type)
        if not local.has_static_shape:
            return
        port = self._port(local)
        with ir.InsertionPoint(self.first):
            buffer = local_buffer(local, f"buf{position}", declared)
        argument.replace_all_uses_with(buffer)
        argument.set_type(port)
        if not whole:
            callee = self._mover(f"load_buf{position}", port, local, declared, load=True)
            with ir.InsertionPoint(self.first):
                call(callee, [argument, buffer])
        if access != "in":
            callee = self._mover(f"store_res{position}", local, port, declared, load=False)
            with ir.InsertionPoint(self.last):
                call(callee, [buffer, argument])

    def _result(self, index: int, position: int, value: ir.Value, declared: str) -> None:
        if not isinstance(value.type, ir.MemRefType):
            return
        local = ir.MemRefType(value.type)
        port = self._port(local)
        callee = self._mover(f"store_res{index}", local, port, declared, load=False)
        with ir.InsertionPoint(self.first):
            result = local_buffer(port, f"res{index}", declared)
        with ir.InsertionPoint(self.last):
            call(callee, [value, result])
        self.last.operands[position] = result

    def _port(self, local: ir.MemRefType) -> ir.MemRefType:
        shape = [prod(local.shape)] if self.flatten else list(local.shape)
        return ir.MemRefType.get(shape, local.element_type)

    def _mover(
        self,
        name: str,
        source: ir.MemRefType,
        target: ir.MemRefType,
        declared: str,
        *,
        load: bool,
    ) -> str:
        """Add the function that copies ``source`` into ``target``; its name, which no other function has."""
        local = target if load else source
        name = free_name(name, functions_of(self.module))
        text = _mover_text(name, source, target, declared, local, load, self.flatten)
        add_function(text, self.top)
        return name


def _is_stream(declared: str) -> bool:
    return bool(declared) and isinstance(parse_type(declared), Stream)


def local_buffer(kind: ir.MemRefType, name: str, declared: str) -> ir.Value:
    """An array of a function, at the insertion point: of ``declared`` elements, with a name in the text."""
    attributes: dict[str, ir.Attribute] = {
        "name": ir.StringAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
    }
    dtype = parse_type(declared) if declared else None
    if isinstance(dtype, UInt):
        attributes["unsigned"] = ir.UnitAttr.get()
    elif isinstance(dtype, (Fixed, UFixed, Struct)):
        attributes["dtype"] = ir.StringAttr.get(declared)
    return ir.Operation.create("memref.alloc", results=[kind], attributes=attributes).results[0]


def call(callee: str, operands: list[ir.Value]) -> None:
    """A call of a function that returns nothing, at the insertion point."""
    attributes = {"callee": ir.FlatSymbolRefAttr.get(callee)}
    ir.Operation.create("func.call", operands=operands, attributes=attributes)


def _mover_text(
    name: str,
    source: ir.MemRefType,
    target: ir.MemRefType,
    declared: str,
    local: ir.MemRefType,
    load: bool,
    flatten: bool,
) -> str:
    shape = list(local.shape)
    ivs = [f"%i{d}" for d in range(len(shape))]
    plain = ", ".join(ivs)
    linear = _linear(ivs, shape) if flatten else plain
    read, write = (linear, plain) if load else (plain, linear)
    names = '["port", "buffer"]' if load else '["buffer", "port"]'
    types = f'["{declared}", "{declared}"]' if declared else '["", ""]'
    head = f"arg_names = {names}, " + (f"arg_types = {types}, " if declared else "")
    lines = [
        f"func.func @{name}(%s: {source}, %t: {target}) attributes "
        f'{{io, {head}itypes = "ss", otypes = "", res_types = []}} {{'
    ]
    for iv, extent in zip(ivs, shape, strict=True):
        lines.append(f"affine.for {iv} = 0 to {extent} {{")
    lines.append(f'%v = affine.load %s[{read}] {{from = "s"}} : {source}')
    lines.append(f'affine.store %v, %t[{write}] {{to = "t"}} : {target}')
    for depth in reversed(range(len(shape))):
        attributes = [f'loop_name = "{name}_{depth}"']
        if depth == 0:
            attributes.append(f'op_name = "S_{name}"')
        if depth == len(shape) - 1:
            attributes += ["pipeline_ii = 1 : ui32", "rewind"]
        lines.append(f"}} {{{', '.join(attributes)}}}")
    return "\n".join([*lines, "return", "}"])


def _linear(ivs: list[str], shape: list[int]) -> str:
    terms = [f"{iv} * {prod(shape[d + 1 :])}" for d, iv in enumerate(ivs)]
    return " + ".join(terms) if terms else "0"


def add_function(text: str, user: ir.Operation) -> None:
    """Put the function of a text in front of the function ``user``, with the place of that."""
    parsed = ir.Module.parse(text)
    function = list(parsed.body.operations)[0].operation
    _relocate(function, user.location)
    with ir.InsertionPoint(user):
        function.clone()


def _relocate(op: ir.Operation, location: ir.Location) -> None:
    """Parsed text has no place in the user's source: give it the top function's."""
    op.location = location
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _relocate(inner.operation, location)
