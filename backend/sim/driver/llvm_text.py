"""Emit functions of MLIR's llvm dialect as text, one call a line."""

from __future__ import annotations

from collections.abc import Sequence


def integer(bits: int) -> str:
    """The MLIR type of ``bits`` bits."""
    return f"i{bits}"


class FunctionText:
    """The text of one ``llvm.func``.

    Values are SSA names. Constants are collected in the entry block, so that they may be asked
    for anywhere. Within a block an operation without effects is emitted once. Memory accesses
    claim no alignment.
    """

    def __init__(self, name: str, parameters: Sequence[tuple[str, str]]) -> None:
        self.name = name
        self.parameters = tuple(parameters)
        self._constants: dict[tuple[int, int], str] = {}
        self._lines: list[str] = []
        self._known: dict[str, str] = {}
        self._count = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"%{self._count}"

    def _emit(self, text: str) -> str:
        name = self._fresh()
        self._lines.append(f"  {name} = {text}")
        return name

    def _pure(self, text: str) -> str:
        """The value of an operation without effects, emitted at most once a block."""
        if text not in self._known:
            self._known[text] = self._emit(text)
        return self._known[text]

    def constant(self, value: int, bits: int) -> str:
        """A constant of ``bits`` bits."""
        key = (value, bits)
        if key not in self._constants:
            self._constants[key] = f"%c{len(self._constants)}"
        return self._constants[key]

    def offset(self, base: str, offset: int) -> str:
        """The address ``offset`` bytes after ``base``."""
        if offset == 0:
            return base
        return self._pure(f"llvm.getelementptr {base}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8")

    def index(self, base: str, index: str, element_bits: int) -> str:
        """The address of element ``index`` (i64) of ``element_bits`` after ``base``."""
        return self._pure(
            f"llvm.getelementptr {base}[{index}] : (!llvm.ptr, i64) -> !llvm.ptr, i{element_bits}"
        )

    def load(self, address: str, bits: int) -> str:
        """The integer of ``bits`` bits at an address, which need not be aligned."""
        return self._emit(f"llvm.load {address} {{alignment = 1 : i64}} : !llvm.ptr -> i{bits}")

    def load_pointer(self, address: str) -> str:
        """The pointer stored at an address."""
        return self._emit(f"llvm.load {address} : !llvm.ptr -> !llvm.ptr")

    def store(self, value: str, address: str, bits: int) -> None:
        """Store an integer of ``bits`` bits at an address, which need not be aligned."""
        self._lines.append(
            f"  llvm.store {value}, {address} {{alignment = 1 : i64}} : i{bits}, !llvm.ptr"
        )

    def binary(self, op: str, a: str, b: str, bits: int) -> str:
        """``llvm.<op>`` of two values: add, sub, mul, and, or, xor, shl, lshr …"""
        return self._pure(f"llvm.{op} {a}, {b} : i{bits}")

    def largest(self, a: str, b: str, bits: int) -> str:
        """The larger of two unsigned values."""
        return self._pure(f"llvm.intr.umax({a}, {b}) : (i{bits}, i{bits}) -> i{bits}")

    def compare(self, predicate: str, a: str, b: str, bits: int) -> str:
        """Whether two integers compare so: ``predicate`` is eq, ne, ult, ule, slt …"""
        return self._pure(f'llvm.icmp "{predicate}" {a}, {b} : i{bits}')

    def select(self, condition: str, a: str, b: str, bits: int) -> str:
        """The integer ``a`` where the condition holds, else ``b``."""
        return self._pure(f"llvm.select {condition}, {a}, {b} : i1, i{bits}")

    def select_pointer(self, condition: str, a: str, b: str) -> str:
        """The pointer ``a`` where the condition holds, else ``b``."""
        return self._pure(f"llvm.select {condition}, {a}, {b} : i1, !llvm.ptr")

    def resize(self, value: str, source: int, target: int, *, signed: bool = False) -> str:
        """``value`` cut or extended to ``target`` bits."""
        if source == target:
            return value
        op = "trunc" if target < source else ("sext" if signed else "zext")
        return self._pure(f"llvm.{op} {value} : i{source} to i{target}")

    def call(self, symbol: str, arguments: Sequence[tuple[str, str]], result: str = "()") -> str:
        """Call ``@symbol``; ``arguments`` are (value, type) pairs."""
        values = ", ".join(value for value, _ in arguments)
        types = ", ".join(kind for _, kind in arguments)
        text = f"llvm.call @{symbol}({values}) : ({types}) -> {result}"
        if result != "()":
            return self._emit(text)
        self._lines.append(f"  {text}")
        return ""

    def call_pointer(self, function: str, argument: str) -> None:
        """Call a ``void (*)(void *)`` through its address."""
        self._lines.append(f"  llvm.call {function}({argument}) : !llvm.ptr, (!llvm.ptr) -> ()")

    def block(self, label: str, arguments: Sequence[tuple[str, str]] = ()) -> None:
        """Begin a block; ``arguments`` are (name, type) pairs."""
        self._known.clear()
        formal = ", ".join(f"{name}: {kind}" for name, kind in arguments)
        self._lines.append(f"^{label}({formal}):" if formal else f"^{label}:")

    def branch(self, label: str, arguments: Sequence[tuple[str, str]] = ()) -> None:
        """End the block with a jump; ``arguments`` are (value, type) pairs."""
        self._lines.append(f"  llvm.br ^{label}{_actual(arguments)}")

    def branch_if(
        self,
        condition: str,
        then: str,
        otherwise: str,
        otherwise_arguments: Sequence[tuple[str, str]] = (),
    ) -> None:
        """End the block with a jump to ``then``, or to ``otherwise`` with its arguments."""
        self._lines.append(
            f"  llvm.cond_br {condition}, ^{then}, ^{otherwise}{_actual(otherwise_arguments)}"
        )

    def finish(self) -> None:
        """End the block with a return."""
        self._lines.append("  llvm.return")

    def text(self) -> str:
        """The whole function."""
        formal = ", ".join(f"%{name}: {kind}" for name, kind in self.parameters)
        constants = [
            f"  {name} = llvm.mlir.constant({value} : i{bits}) : i{bits}"
            for (value, bits), name in self._constants.items()
        ]
        body = [f"llvm.func @{self.name}({formal}) {{", *constants, *self._lines, "}"]
        return "\n".join(body)


def _actual(arguments: Sequence[tuple[str, str]]) -> str:
    if not arguments:
        return ""
    values = ", ".join(value for value, _ in arguments)
    types = ", ".join(kind for _, kind in arguments)
    return f"({values} : {types})"
