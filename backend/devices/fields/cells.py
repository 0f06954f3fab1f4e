"""What parts of a design take of the cells of a device family, fitted to Yosys 0.70.

The figures come from synthesising each part by itself in a range of widths (``docs/resources.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from .facts import Facts

Shape = tuple[int, int]
"""Words and bits of a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredBlock(Facts):
    """A multiplier block whose registers a design must ask for, for synthesis leaves them outside.

    Attributes:
        operand_bits: of each operand, at most; ``result_bits`` of the product.
        instance: Verilog that instantiates it, by lines. It reads ``wide_a`` and ``wide_b``, drives
            ``product``, and has places for ``{clk}``, ``{ce}``, and ``{a_signed}`` and ``{b_signed}``,
            which are 0 or 1.
    """

    operand_bits: int
    result_bits: int
    instance: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells(Facts):
    """The cells of a family, and how Yosys uses them.

    Attributes:
        inputs: of a lookup table.
        dsp: widths of a multiplier's operands, the larger first.
        dsp_signed: whether it takes signed operands alone, so that unsigned ones are a bit wider.
        dsp_least: bits of a product below which it is made of lookup tables, ``product_table`` for each
            product of two bits.
        dsp_joined: bits of operands that four blocks take as one, without tables that join them; 0: none.
        dsp_takes: whether Yosys puts the registers around a product into its block.
        carry_bits: bits of a cell of a carry chain.
        carry_inverts: whether a carry chain inverts an operand; where not, each bit takes a table for it.
        carry_apart: whether the cells of a carry chain lie beside the lookup tables, so that bits of a sum
            that nothing reads take none.
        controls_join: whether a register that has an enable or a reset takes a further condition into it.
            Yosys does so for every family; the formulas of some were fitted without it.
        resets_first: whether the reset of a flip-flop is stronger than its enable, so that a reset that the
            enable holds back stays in front of it.
        resets: whether a flip-flop has a reset that waits for the clock; where not, it is a table.
        merges: whether the estimate takes together what Yosys does: equal sums and registers of products by
            constants, registers that only zeros go to, bits that extend what a multiplexer chooses; and, in
            time, the terms of a joined sum, and gates of one kind behind one another. Yosys does so for
            every family; the figures of some were fitted without it.
        table_cell: Verilog that instantiates a lookup table of all inputs, which reads ``a``, holds ``WORDS``
            and drives ``y``; "" where tables are told as what they compute.
        wide_tables: whether multiplexers join tables to functions of more inputs.
        equal_pair: lookup tables for a bit of a comparison of two variables with one another.
        carry_absorbs: whether the lookup tables of a carry chain take logic in front of it.
        carry_shared: whether two sums that have an operand in common, and between which alone a multiplexer
            chooses, are one chain behind the choice of the other operand (``opt_share``).
        shift_registers: whether lookup tables can be shift registers.
        ultra: words and bits of a block of 288 kbit; ``ultra_worth``: how many blocks of 18 kbit the largest
            device has for each of them.
        block_registers: whether synthesis puts registers in front of and behind a product into its block.
            The estimate of time reckons with it; Yosys 0.70, which the counts follow, leaves those of
            DSP48E2 outside.
        small: bits of a sum with a constant that Yosys makes of lookup tables, not of a carry chain.
        few: bits whose comparison with a constant is logic, which tables take in with what is around it.
        level: lookup tables of a bit of a shift by a variable, for each bit of the distance.
        blocks: (shapes, blocks of 18 kbit each) of block RAM with one reading and one writing port.
        true_blocks: the same with two ports that do both.
        table_memory: whether lookup tables can be memories.
        write_ports: through how many ports a block can be written in one cycle; a memory that needs more is
            made of registers.
        copies: whether each reading port is a block of its own.
        block_cost: bits of registers that Yosys holds a block for.
        registered: the block with registers that synthesis does not put into it by itself; None where it
            does, or where the family has none.
    """

    inputs: int
    dsp: Shape
    dsp_signed: bool
    dsp_least: int
    carry_absorbs: bool
    carry_shared: bool = False
    carry_bits: int = 2
    carry_inverts: bool = True
    carry_apart: bool = False
    controls_join: bool = False
    resets_first: bool = False
    resets: bool = True
    merges: bool = False
    table_cell: str = ""
    wide_tables: bool = True
    equal_pair: float = 0.0
    dsp_joined: int = 0
    dsp_takes: bool = False
    product_table: float = 0.8
    table_memory: bool = True
    write_ports: int = 2
    copies: bool = False
    block_cost: int = 128
    shift_registers: bool
    small: int
    few: int
    level: float
    blocks: tuple[tuple[tuple[Shape, ...], int], ...]
    true_blocks: tuple[tuple[tuple[Shape, ...], int], ...]
    block_registers: bool = False
    registered: RegisteredBlock | None = None
    ultra: Shape = (0, 0)
    ultra_worth: float = 1.0

    # --- arithmetic ----------------------------------------------------------------------

    def function(self, inputs: int) -> int:
        """Lookup tables of a bit of a function of more inputs than one has, which is no tree."""
        return 1 << inputs - 4 if self.wide_tables else ceil((inputs - 1) / 3)

    def chain(self, width: int, inverted: int = 0, wanted: int | None = None) -> int:
        """Lookup tables of an adder whose operands are registers.

        Args:
            width: bits of the chain.
            inverted: variable bits of an operand that is subtracted.
            wanted: bits of the sum that something reads; None: all.
        """
        own = inverted if not self.carry_inverts else 0
        if self.carry_apart and wanted is not None:
            return wanted + own
        return self.carry_bits * ceil(width / self.carry_bits) + own

    def many(self, terms: int, adders: int, width: int) -> int:
        """Lookup tables of a sum of three terms or more, with so many full adders.

        Of more than three terms, Yosys makes the lowest bits of tables of more inputs on ECP5. Tables of six
        inputs take part of what is behind them, less of many terms.
        """
        if self.inputs == 6:
            each = min(1.5, 1 + 0.1 * max(0, terms - 4))
            return width + ceil(each * adders)
        return self.chain(width) + 2 * adders + (8 * (terms - 2) if terms > 3 else 0)

    def equal(self, inputs: int, pairs: int, chosen: int = 0) -> int:
        """Lookup tables that tell whether so many bits are as wanted, ``pairs`` of them two variables'.

        ``chosen`` of them are choices of two bits in front of the comparison, which are in its tables: beside
        another variable each is a table, beside a constant both words are compared.
        """
        if self.equal_pair and pairs > 2:
            return ceil(self.equal_pair * pairs + max(0, inputs - 2 * pairs) / 3)
        if chosen and pairs:
            return ceil(chosen * (7 / 6 if self.inputs == 6 else 4 / 3))
        inputs += chosen
        if inputs <= self.inputs:
            return 1
        if self.inputs == 6:
            return round(0.3 * inputs + 0.6) if pairs or chosen else inputs // 4 + 1
        return ceil((inputs - 1) / 3 * (1.3 if chosen else 1))

    def less(self, width: int, known: bool) -> int:
        """Lookup tables of a comparison; ``known``: with a constant."""
        if self.inputs == 6:
            if known:
                return 1 if width <= 8 else ceil(width / 4) + 1
            return max(1, round(0.68 * width + 0.5))
        if known and width <= 4:
            return 1
        if not self.wide_tables:
            return 1 if known and not self.carry_inverts else width + 1
        return self.chain(width) + 1 if width > 4 else 3 * width - 2

    def shift(self, width: int, stages: int) -> int:
        """Lookup tables of a shift by a variable."""
        return ceil(self.level * width * stages)

    def spread(self, size: int, width: int, moving: int) -> int:
        """Lookup tables of a shift to the left of fewer bits than the result has.

        A step chooses between two bits only where it moves the number over itself; elsewhere it clears one.
        An amount with more bits than there are steps clears all. Fitted to such shifts of 7 to 64 bits.
        """
        steps = min(moving, (width - 1).bit_length())
        chosen = cleared = 0
        for step in range(steps):
            chosen += max(0, size - (1 << step))
            moved = min(width, size + (1 << step))
            cleared += moved - max(0, size - (1 << step))
            size = moved
        beyond = ceil((moving - steps) / 5 + 0.15 * width) if moving > steps else 0
        return ceil(0.72 * chosen + 0.3 * cleared) + beyond

    def decoder(self, width: int, inputs: int) -> int:
        """Lookup tables of functions of one number of so many bits, which share their first ones."""
        return width if inputs <= self.inputs else ceil(1.3 * width)

    def product(
        self, result: int, written: int, operands: Sequence[tuple[int, bool]]
    ) -> tuple[int, int]:
        """Multiplier blocks and lookup tables of a product.

        Args:
            result: bits that are wanted of it.
            written: bits that the text gives it. Where only one operand is extended by its sign, Yosys takes
                both as signed, or that one with all of these bits as unsigned: what is the smaller product.
            operands: of both, the bits without those that extend them, and whether these are their sign.
        """
        # bits above those of the result change nothing in it
        sizes = [(min(bits, result), signed) for bits, signed in operands]
        if sizes[0][1] != sizes[1][1]:
            filled = 0 if self.dsp_signed else self.dsp[1]
            sizes = _of_one_sign(sizes, min(result, written), written, filled)
        (wide, wide_signed), (narrow, narrow_signed) = sorted(sizes, reverse=True)
        if narrow <= 1:
            return 0, result
        width = min(result, wide + narrow)
        if width < self.dsp_least:
            return 0, ceil(self.product_table * wide * narrow)
        if self.dsp[0] < wide <= self.dsp_joined:
            return 4, 0
        if self.dsp_signed and not (wide_signed and narrow_signed):
            wide, narrow = wide + (not wide_signed), narrow + (not narrow_signed)
        return self._tiles(width, wide, narrow)

    def _tiles(self, width: int, wide: int, narrow: int) -> tuple[int, int]:
        """How a product is cut into blocks, as Yosys does it: the wide operand first."""
        most = self.dsp
        whole = most[1]
        step = whole - 1 if self.dsp_signed else whole
        for axis, (size, limit) in enumerate(((wide, most[0]), (narrow, most[1]))):
            if size <= limit:
                continue
            other = narrow if axis == 0 else wide
            parts = ceil((size - limit) / step)
            blocks, tables = 0, 0
            for part in range(parts):
                at = (whole, other) if axis == 0 else (other, whole)
                found = self._tiles(min(width, other + whole), *at)
                blocks, tables = blocks + found[0], tables + found[1]
                if part * step < width and part:
                    tables += self._partial(min(width - part * step, other + whole))
            last = size - parts * step
            offset = parts * step
            if offset >= width:
                return blocks, tables
            at = (last, other) if axis == 0 else (other, last)
            found = self._tiles(min(width - offset, other + last), *at)
            tables += found[1] + self._partial(min(width - offset, other + last))
            return blocks + found[0], tables
        return 1, 0

    def _partial(self, width: int) -> int:
        return width if self.carry_absorbs else self.chain(width)

    # --- memories ------------------------------------------------------------------------

    def block_count(self, words: int, width: int, *, both_write: bool) -> int:
        """Blocks of 18 kbit."""
        return self.block_rows(words, width, both_write=both_write)[0]

    def block_rows(
        self, words: int, width: int, *, both_write: bool, reads: int = 0, writes: int = 0
    ) -> tuple[int, int]:
        """Blocks of 18 kbit, and in how many rows: each read chooses between these, each write finds its own.

        Yosys holds half a bit of registers for each place of such a choice.
        """

        def cost(found: tuple[int, int]) -> float:
            blocks, rows = found
            return self.block_cost * blocks + 0.5 * (reads * width * (rows - 1) + writes * rows)

        kinds = self.true_blocks if both_write else self.blocks
        shapes = [(shape, size) for shapes, size in kinds for shape in shapes]
        found = [
            (size * rows * ceil(width / bits), rows)
            for (depth, bits), size in shapes
            for rows in (ceil(words / depth),)
        ]
        return min(found, key=cost)

    def chosen_row(self, rows: int) -> float:
        """Lookup tables of a bit that is chosen from rows of blocks.

        Where nothing is behind the choice of many but a register, Yosys makes it flat on families of four
        inputs, with twice as many.
        """
        if rows < 2:
            return 0.0
        if self.inputs > 4:
            return 1.0 if rows <= 4 else 0.41 * rows
        return max(2.0, 0.8 * (rows - 1))

    def ultra_blocks(self, words: int, width: int) -> int:
        """Blocks of 288 kbit that hold so many words; 0 where the family has none."""
        deep, wide = self.ultra
        return ceil(words / deep) * ceil(width / wide) if deep else 0

    def ultra_count(self, words: int, width: int, blocks: int) -> int:
        """Blocks of 288 kbit for so many of 18, or 0.

        They are taken where they are a smaller share of the device, and at least half full.
        """
        deep, wide = self.ultra
        count = self.ultra_blocks(words, width)
        full = 2 * words * width >= count * deep * wide
        return count if full and count * self.ultra_worth < blocks else 0


def _of_one_sign(
    sizes: list[tuple[int, bool]], result: int, written: int, filled: int
) -> list[tuple[int, bool]]:
    """Operands of which one is signed, as Yosys takes them: the product that has fewer partial ones.

    The zero above an unsigned operand that fills blocks of ``filled`` bits is a part and no block.
    """
    (signed, _), (unsigned, _) = sorted(sizes, key=lambda size: not size[1])
    if signed * (unsigned + 1) < min(result, written) * unsigned:
        apart = filled and unsigned % filled == 0
        return [(signed, True), (unsigned if apart else unsigned + 1, True)]
    return [(written, True), (unsigned, False)]
