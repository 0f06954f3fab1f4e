"""The helper functions in the lowering of dataflow: put, get, spawn, each written once as text.

A site becomes one call of such a helper, which LLVM inlines; so the code that touches a FIFO's
fields stands in one place.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.boundary.storage import cell_bytes
from allo.dialects.core.signature import symbol
from allo.dialects.types import parse_type

_DECLARATIONS = """
llvm.func @allo_region_begin()
llvm.func @allo_region_join()
llvm.func @allo_fifos_new(!llvm.ptr, i64)
llvm.func @allo_fifo_at(i64) -> !llvm.ptr
llvm.func @allo_spawn_all(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)
llvm.func @allo_put_wait(!llvm.ptr, i64) attributes {passthrough = ["cold"]}
llvm.func @allo_get_wait(!llvm.ptr, i64) attributes {passthrough = ["cold"]}
llvm.func @allo_turn()
llvm.func @allo_has_room(!llvm.ptr, i64) -> i64
llvm.func @allo_has_element(!llvm.ptr, i64) -> i64
llvm.func @allo_may_put(!llvm.ptr, i64) -> i64
llvm.func @allo_may_get(!llvm.ptr, i64) -> i64
llvm.func @allo_event(i64, !llvm.ptr)
"""

# Fields of a Fifo, by number of 64-bit words.
_DATA, _COUNT, _PUT_LIMIT, _GET_FLOOR, _READ, _WRITE, _BYTES, _MOVED = range(8)


def stored_type(kind: ir.Type) -> ir.Type:
    """The LLVM type of a value in a frame."""
    if isinstance(kind, ir.IndexType):
        return ir.IntegerType.get_signless(64)
    if not isinstance(kind, ir.MemRefType):
        return kind
    arrays = f", array<{kind.rank} x i64>" * 2 if kind.rank else ""
    return ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>")


def stored_bytes(kind: ir.Type) -> int:
    """The size of a value in a frame."""
    if isinstance(kind, ir.MemRefType):
        return int(8 * (3 + 2 * kind.rank))
    return cell_bytes(parse_type(str(kind)))


def frame_layout(kinds: list[ir.Type]) -> tuple[list[int], int]:
    """Byte offsets of the arguments in a frame, each aligned to 16, and the frame's size."""
    offsets, size = [], 0
    for kind in kinds:
        offsets.append(size)
        size += -(-stored_bytes(kind) // 16) * 16
    return offsets, size


class Helpers:
    """Functions made once per element type or kernel and used by many sites.

    Args:
        counted: whether puts and gets are counted, so that processes that only try are found out.
    """

    def __init__(self, *, counted: bool = False) -> None:
        self._counted = counted
        self._texts: dict[str, str] = {}
        self._kernels: dict[str, str] = {}

    def add_to(self, module: ir.Module) -> None:
        """Append the helpers, and the declarations of the runtime, to ``module``."""
        parts = [_DECLARATIONS, *self._kernels.values(), *self._texts.values()]
        made = ir.Module.parse("\n".join(parts))
        for op in list(made.body.operations):
            if symbol(op) not in self._kernels:
                op.operation.detach_from_parent()
                module.body.append(op)

    def handle(self) -> str:
        """``index (position)``: the handle of a FIFO of the innermost region."""
        return self.make(
            "__allo_handle",
            "(%position: i64) -> index",
            "%p = llvm.call @allo_fifo_at(%position) : (i64) -> !llvm.ptr\n"
            "%w = llvm.ptrtoint %p : !llvm.ptr to i64\n"
            "%handle = arith.index_cast %w : i64 to index\n"
            "return %handle : index",
        )

    def put(self, kind: ir.Type) -> str:
        """``void (fifo, value, site)``"""
        name = f"__allo_put_{kind}"
        if name in self._texts:
            return name
        cell = cell_bytes(parse_type(str(kind)))
        store = "llvm.store %s, %at : T, !llvm.ptr".replace("T", str(stored_type(kind)))
        value = "%s = arith.index_cast %v : index to i64\n" if str(kind) == "index" else ""
        if not value:
            store = store.replace("%s", "%v")
        return self.make(
            name,
            f"(%fifo: !llvm.ptr, %v: {kind}, %site: i64)",
            self._transfer(_WRITE, _word_text(cell) + value + store, putting=True) + "return",
        )

    def get(self, kind: ir.Type) -> str:
        """``value (fifo, site)``"""
        name = f"__allo_get_{kind}"
        if name in self._texts:
            return name
        cell = cell_bytes(parse_type(str(kind)))
        load = f"%s = llvm.load %at : !llvm.ptr -> {stored_type(kind)}\n"
        is_index = str(kind) == "index"
        if is_index:
            load += "%v = arith.index_cast %s : i64 to index\n"
        return self.make(
            name,
            f"(%fifo: !llvm.ptr, %site: i64) -> {kind}",
            self._transfer(_READ, _word_text(cell) + load, putting=False)
            + f"return {'%v' if is_index else '%s'} : {kind}",
        )

    def put_block(self) -> str:
        """``void (fifo, address, bytes, site)``"""
        copy = _copy_text("%at", "%array")
        return self.make(
            "__allo_put_block",
            "(%fifo: !llvm.ptr, %array: !llvm.ptr, %cell: i64, %site: i64)",
            self._transfer(_WRITE, copy, putting=True) + "return",
        )

    def get_block(self) -> str:
        """``void (fifo, address, bytes, site)``"""
        copy = _copy_text("%array", "%at")
        return self.make(
            "__allo_get_block",
            "(%fifo: !llvm.ptr, %array: !llvm.ptr, %cell: i64, %site: i64)",
            self._transfer(_READ, copy, putting=False) + "return",
        )

    def try_put(self, kind: ir.Type) -> str:
        """``done (fifo, value, site)``"""
        put = f"func.call @{self.put(kind)}(%fifo, %v, %site) : (!llvm.ptr, {kind}, i64) -> ()"
        return self.make(
            f"__allo_try_put_{kind}",
            f"(%fifo: !llvm.ptr, %v: {kind}, %site: i64) -> i1",
            f"{_asked('allo_may_put')}scf.if %yes {{\n{put}\n}}\nreturn %yes : i1",
        )

    def try_get(self, kind: ir.Type) -> str:
        """``value, done (fifo, site)``; the value is 0 where there is none."""
        get = f"%g = func.call @{self.get(kind)}(%fifo, %site) : (!llvm.ptr, i64) -> {kind}"
        zero = "0" if isinstance(kind, ir.IntegerType | ir.IndexType) else "0.0"
        return self.make(
            f"__allo_try_get_{kind}",
            f"(%fifo: !llvm.ptr, %site: i64) -> ({kind}, i1)",
            f"""{_asked("allo_may_get")}%v = scf.if %yes -> ({kind}) {{
  {get}
  scf.yield %g : {kind}
}} else {{
  %z = arith.constant {zero} : {kind}
  scf.yield %z : {kind}
}}
return %v, %yes : {kind}, i1""",
        )

    def lacks(self, runtime_function: str) -> str:
        """``answer (fifo, site)``: whether the runtime says that there is no room, or no element."""
        return self.make(
            f"__{runtime_function}_not",
            "(%fifo: !llvm.ptr, %site: i64) -> i1",
            f"{_asked(runtime_function)}%one = arith.constant 1 : i1\n"
            "%no = arith.xori %yes, %one : i1\nreturn %no : i1",
        )

    def _transfer(self, offset_field: int, access: str, *, putting: bool) -> str:
        text = _transfer(offset_field, access, putting=putting)
        return f"{text}{_COUNTED}" if self._counted else text

    def thunk(self, callee: str, kinds: list[ir.Type]) -> str:
        """``void (frame)``: the entry of a process, which calls a kernel with the arguments in its frame."""
        lines = []
        for i, (kind, offset) in enumerate(zip(kinds, frame_layout(kinds)[0], strict=True)):
            stored = stored_type(kind)
            value = f"a{i}" if stored == kind else f"s{i}"
            lines.append(
                f"%p{i} = llvm.getelementptr %frame[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8"
            )
            lines.append(f"%{value} = llvm.load %p{i} : !llvm.ptr -> {stored}")
            if stored != kind:
                lines.append(
                    f"%a{i} = builtin.unrealized_conversion_cast %s{i} : {stored} to {kind}"
                )
        arguments = ", ".join(f"%a{i}" for i in range(len(kinds)))
        types = ", ".join(map(str, kinds))
        self._kernels[callee] = f"func.func private @{callee}({types})"
        lines.append(f"func.call @{callee}({arguments}) : ({types}) -> ()")
        return self.make(
            f"__allo_thunk_{callee}", "(%frame: !llvm.ptr)", "\n".join([*lines, "return"])
        )

    def add_global(self, name: str, text: str) -> str:
        """Add a global, given as text."""
        self._texts[name] = text
        return name

    def make(self, name: str, signature: str, body: str) -> str:
        """Add a function, given as text, unless there is one of that name."""
        if name in self._texts:
            return name
        linkage = "attributes {llvm.linkage = #llvm.linkage<internal>}"
        self._texts[name] = f"func.func @{name}{signature} {linkage} {{\n{body}\n}}"
        return name


_COUNTED = f"""%moved_at = llvm.getelementptr %fifo[{_MOVED}] : (!llvm.ptr) -> !llvm.ptr, i64
%moved = llvm.load %moved_at : !llvm.ptr -> i64
%once = arith.constant 1 : i64
%moved_on = arith.addi %moved, %once : i64
llvm.store %moved_on, %moved_at : i64, !llvm.ptr
"""


def _asked(runtime_function: str) -> str:
    return f"""%word = llvm.call @{runtime_function}(%fifo, %site) : (!llvm.ptr, i64) -> i64
%none = arith.constant 0 : i64
%yes = arith.cmpi ne, %word, %none : i64
"""


def _copy_text(target: str, source: str) -> str:
    operands = f"({target}, {source}, %cell) <{{isVolatile = false}}>"
    return f'"llvm.intr.memcpy"{operands} : (!llvm.ptr, !llvm.ptr, i64) -> ()'


def _word_text(cell: int) -> str:
    return f"%cell = arith.constant {cell} : i64\n"


def _transfer(offset_field: int, access: str, *, putting: bool) -> str:
    """The body of a put or get: wait if need be, access the element at ``%at``, step on."""
    limit, compare, wait, step = (
        (_PUT_LIMIT, "sge", "allo_put_wait", 1)
        if putting
        else (_GET_FLOOR, "sle", "allo_get_wait", -1)
    )
    fields = {"count": _COUNT, "limit": limit, "offset": offset_field, "bytes": _BYTES}
    addresses = "\n".join(
        f"%{name}_at = llvm.getelementptr %fifo[{number}] : (!llvm.ptr) -> !llvm.ptr, i64"
        for name, number in fields.items()
    )
    return f"""{addresses}
%before = llvm.load %count_at : !llvm.ptr -> i64
%limit = llvm.load %limit_at : !llvm.ptr -> i64
%waits = arith.cmpi {compare}, %before, %limit : i64
scf.if %waits {{
  llvm.call @{wait}(%fifo, %site) : (!llvm.ptr, i64) -> ()
}}
%count = llvm.load %count_at : !llvm.ptr -> i64
%data = llvm.load %fifo : !llvm.ptr -> !llvm.ptr
%offset = llvm.load %offset_at : !llvm.ptr -> i64
%at = llvm.getelementptr %data[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
{access}
%next = arith.addi %offset, %cell : i64
%bytes = llvm.load %bytes_at : !llvm.ptr -> i64
%ends = arith.cmpi eq, %next, %bytes : i64
%zero = arith.constant 0 : i64
%wrapped = arith.select %ends, %zero, %next : i64
llvm.store %wrapped, %offset_at : i64, !llvm.ptr
%one = arith.constant {step} : i64
%after = arith.addi %count, %one : i64
llvm.store %after, %count_at : i64, !llvm.ptr
"""
