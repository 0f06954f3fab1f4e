"""Operations of memories, arrays and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .operations import CLOCK, RESET, Operation, constant_text

BLOCK, ULTRA, DISTRIBUTED = "block", "ultra", "distributed"
"""What a memory can be asked to be made of: blocks, those of 288 kbit, lookup tables."""
WORDS_A_LINE = 4
LISTED = 256
"""Words of a table that are set one by one; those of longer ones stand in literals of several."""
LITERAL_BITS = 1024


class Memory(Operation):
    """A memory of ``depth`` words, which is read at once and written at the clock.

    Attributes:
        separate: whether no word is read, for use, in the cycle in which it is written.
        style: what it is to be made of, "" where this is the synthesiser's choice.
    """

    __slots__ = ("depth", "separate", "style")

    def __init__(
        self,
        result: str,
        depth: int,
        width: int,
        *,
        separate: bool = False,
        style: str = "",
    ) -> None:
        super().__init__(result, (RESET,), width)
        self.depth = depth
        self.separate = separate
        self.style = style

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        kind = f"<{self.depth}xi{self.width}>"
        return f"{self.result} = seq.hlmem @{self.result[1:]} {CLOCK}, {RESET} : {kind}"

    def results(self) -> Iterable[tuple[str, str]]:
        """The values it defines, with their types."""
        return ((self.result, f"!seq.hlmem<{self.depth}xi{self.width}>"),)

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return ("i1",)


class Read(Operation):
    """The word of a memory at an address, in the same cycle: operands are memory, address, enable."""

    __slots__ = ("address_bits", "depth")

    def __init__(
        self, result: str, operands: tuple[str, str, str], depth: int, width: int, bits: int
    ) -> None:
        super().__init__(result, operands, width)
        self.depth = depth
        self.address_bits = bits

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        memory, address, enable = self.operands
        return (
            f"{self.result} = seq.read {memory}[{address}] rden {enable} {{ latency = 0}} "
            f": !seq.hlmem<{self.depth}xi{self.width}>"
        )

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return f"!seq.hlmem<{self.depth}xi{self.width}>", f"i{self.address_bits}", "i1"


class Write(Operation):
    """A write to a memory: operands are memory, address, word, enable."""

    __slots__ = ("address_bits", "depth")

    def __init__(
        self, operands: tuple[str, str, str, str], depth: int, width: int, bits: int
    ) -> None:
        super().__init__("", operands, width)
        self.depth = depth
        self.address_bits = bits

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        memory, address, word, enable = self.operands
        return (
            f"seq.write {memory}[{address}] {word} wren {enable} {{ latency = 1}} "
            f": !seq.hlmem<{self.depth}xi{self.width}>"
        )

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        kind = f"!seq.hlmem<{self.depth}xi{self.width}>"
        return kind, f"i{self.address_bits}", f"i{self.width}", "i1"


class SimulatedMemory(Operation):
    """The memory of a simulator: reads are answered at once."""

    __slots__ = ("depth",)

    def __init__(self, result: str, depth: int, width: int) -> None:
        super().__init__(result, (), width)
        self.depth = depth

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        kind = f"<{self.depth} x {self.width}>"
        return f"{self.result} = seq.firmem 0, 1, undefined, undefined : {kind}"

    def results(self) -> Iterable[tuple[str, str]]:
        """The values it defines, with their types."""
        return ((self.result, f"!seq.firmem<{self.depth} x {self.width}>"),)


class SimulatedRead(Read):
    """The word of a simulator's memory."""

    __slots__ = ()

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        memory, address, enable = self.operands
        return (
            f"{self.result} = seq.firmem.read_port {memory}[{address}], clock {CLOCK} "
            f"enable {enable} : <{self.depth} x {self.width}>"
        )

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return f"!seq.firmem<{self.depth} x {self.width}>", f"i{self.address_bits}", "i1"


class SimulatedWrite(Write):
    """A write to a simulator's memory; one without an enable writes in every cycle."""

    __slots__ = ()

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        memory, address, word, enable = self.operands
        return (
            f"seq.firmem.write_port {memory}[{address}] = {word}, clock {CLOCK} "
            f"enable {enable} : <{self.depth} x {self.width}>"
        )

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        kind = f"!seq.firmem<{self.depth} x {self.width}>"
        return kind, f"i{self.address_bits}", f"i{self.width}", "i1"


class ArrayCreate(Operation):
    """Values of one width as an array, the last first."""

    __slots__ = ()

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        return f"{self.result} = hw.array_create {', '.join(self.operands)} : i{self.width}"

    def results(self) -> Iterable[tuple[str, str]]:
        """The values it defines, with their types."""
        return ((self.result, f"!hw.array<{len(self.operands)}xi{self.width}>"),)


class Element(Operation):
    """An element of an array of ``count``: operands are the array and the index."""

    __slots__ = ("count", "index_bits")

    def __init__(
        self, result: str, operands: tuple[str, str], count: int, width: int, bits: int
    ) -> None:
        super().__init__(result, operands, width)
        self.count = count
        self.index_bits = bits

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        array, index = self.operands
        kind, bits = self.operand_types()
        return f"{self.result} = hw.array_get {array}[{index}] : {kind}, {bits}"

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return f"!hw.array<{self.count}xi{self.width}>", f"i{self.index_bits}"


class ConstantArray(Operation):
    """An array of constants, the first word last in the text."""

    __slots__ = ("words",)

    def __init__(self, result: str, words: Sequence[int], width: int) -> None:
        super().__init__(result, (), width)
        self.words = words

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        width = self.width
        listed = ", ".join([f"{constant_text(v, width)} : i{width}" for v in reversed(self.words)])
        (result, kind) = next(iter(self.results()))
        return f"{result} = hw.aggregate_constant [{listed}] : {kind}"

    def results(self) -> Iterable[tuple[str, str]]:
        """The values it defines, with their types."""
        return ((self.result, f"!hw.array<{len(self.words)}xi{self.width}>"),)


class Table(Operation):
    """A memory of constants, which an ``initial`` block sets; ``module`` is the module it stands in."""

    __slots__ = ("module", "words")

    def __init__(self, result: str, words: Sequence[int], width: int, module: str) -> None:
        super().__init__(result, (), width)
        self.words = words
        self.module = module

    @property
    def kind(self) -> str:
        """Its type."""
        return f"!hw.inout<uarray<{len(self.words)}xi{self.width}>>"

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        symbol, where = self.result[1:], self.location.text
        lines = "\\0A".join(_lines(self.words, self.width))
        symbols = f"{{symbols = [#hw.innerNameRef<@{self.module}::@{symbol}>]}}"
        return (
            f"{self.result} = sv.reg sym @{symbol} : {self.kind}{where}\n"
            f'  sv.initial {{ sv.verbatim "{lines}" {symbols}{where} }}'
        )

    def results(self) -> Iterable[tuple[str, str]]:
        """The values it defines, with their types."""
        return ((self.result, self.kind),)


class TableRead(Operation):
    """The word of a table of ``count`` words: operands are the table and the address."""

    __slots__ = ("address_bits", "count")

    def __init__(
        self, result: str, operands: tuple[str, str], count: int, width: int, bits: int
    ) -> None:
        super().__init__(result, operands, width)
        self.count = count
        self.address_bits = bits

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        table, address = self.operands
        kind, bits = self.operand_types()
        place = f"%place.{self.result[1:]}"
        return (
            f"{place} = sv.array_index_inout {table}[{address}] : {kind}, {bits}"
            f"{self.location.text}\n"
            f"  {self.result} = sv.read_inout {place} : !hw.inout<i{self.width}>"
        )

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return f"!hw.inout<uarray<{self.count}xi{self.width}>>", f"i{self.address_bits}"


def _lines(words: Sequence[int], width: int) -> list[str]:
    """What sets the memory ``{{0}}``; Icarus Verilog 11 takes no pattern for the whole of it."""
    if len(words) <= LISTED:
        listed = [f"{{{{0}}}}[{k}] = {width}'h{word:x};" for k, word in enumerate(words)]
        return [" ".join(listed[k : k + WORDS_A_LINE]) for k in range(0, len(listed), WORDS_A_LINE)]
    together = max(1, LITERAL_BITS // width)
    return [_several(k, words[k : k + together], width) for k in range(0, len(words), together)]


def _several(first: int, words: Sequence[int], width: int) -> str:
    """Words in a row from one literal, the first in its lowest bits."""
    whole = sum(word << (width * k) for k, word in enumerate(words))
    return (
        f"for (int k = 0; k < {len(words)}; k = k + 1) {{{{0}}}}[{first} + k] = "
        f"{width}'({width * len(words)}'h{whole:x} >> ({width} * k));"
    )
