"""Delays of a device family, of operators and of signals, in nanoseconds after routing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2

from .facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDelays(Facts):
    """What operators are pipelined by, and what the scheduler chains: never what is computed.

    Attributes:
        register_ns: clock to output plus set-up.
        gate_ns: a bitwise operation inside a chain of logic.
        mux_ns: a two-to-one multiplexer; ``fanout_ns`` is added per doubling of its width.
        level_ns: one lookup table with its routing.
        fanin: inputs of a lookup table. ``joined_fanin``: of one that multiplexers join from several, which
            takes ``joined_ns`` more for each input that it has more.
        carry_ns: entering and leaving a carry chain; ``carry_bit_ns`` per bit, and ``compare_bit_ns`` per
            bit of a comparison, 0 where it is the same.
        shift_ns: each place of the distance of a shift by a variable; 0 where it is made of multiplexers.
        choice_ns: a choice among the words of banks, for each doubling of them; 0 where it is half a glue
            level.
        dsp_ns: one multiplier block, unregistered, with its routing.
        dsp_shape: widths of its unsigned operands, the larger first. ``dsp_adder``: bits of the adder behind
            its product, which takes what the block before it has, 0 where it has none; ``dsp_add_ns``: what
            a sum there adds, 0 where it is timed as one in logic.
        source_ns: how late a unit's operands may arrive (a memory output, an operand mux).
        luts_for_dsp: lookup tables that a product by a constant may take in place of a multiplier block.
        glue_ns: a level of the logic that joins operators; ``glue_bit_ns`` per bit of its carry chains.
        memory_out_ns: clock to data of a RAM block, with its routing.
        memory_old_ns: more where a RAM block cannot read the word before a write of the same cycle, and
            logic beside it does.
        memory_in_ns: routing and set-up of its address and data.
        stream_ns: how late a word of a FIFO comes.
        order_ns: more for each stream operation that waits in the same cycle for one before it.
        word_to_dsp_ns: how late the register that has taken a word of a FIFO in gives it to a multiplier
            block. It lies between both, and only a second register lies at the block.
        return_ns: from a FIFO that has taken a word in to the places that the process counts, where
            the FIFO is far from it; a register parts this way at clocks at which it does not fit.
        small_memory: bits up to which a memory is made of lookup tables: its words are read before
            the register behind it, not after. 0 where this makes no difference.
        absorbs: whether the table in front of a place of a carry chain takes in logic of its operands.
        packs: whether all units are pipelined by the tables that their logic becomes, not only those for
            loops that wait for them. Where it is not, gates count one by one, at ``gate_ns`` and ``mux_ns``.
        margin: part of the clock period that estimated delays may fill.
        smaller_sums: float formats and clocks in MHz at which Yosys was seen to take fewer tables for the
            small drawing of a sum. At others it may take more.
    """

    register_ns: float
    gate_ns: float
    mux_ns: float
    fanout_ns: float
    level_ns: float
    fanin: int
    carry_ns: float
    carry_bit_ns: float
    dsp_ns: float
    dsp_shape: tuple[int, int]
    source_ns: float
    luts_for_dsp: int
    glue_ns: float
    glue_bit_ns: float
    memory_out_ns: float
    memory_old_ns: float = 0.0
    memory_in_ns: float
    dsp_adder: int = 0
    dsp_add_ns: float = 0.0
    compare_bit_ns: float = 0.0
    shift_ns: float = 0.0
    choice_ns: float = 0.0
    stream_ns: float = 0.0
    order_ns: float = 0.0
    word_to_dsp_ns: float = 0.0
    return_ns: float = 0.0
    small_memory: int = 0
    joined_fanin: int = 0
    joined_ns: float = 0.0
    absorbs: bool = False
    packs: bool = False
    margin: float = 0.92
    smaller_sums: frozenset[tuple[str, float]] = frozenset()

    def budget_ns(self, clock_mhz: float) -> float:
        """Logic that fits between two registers."""
        return self.margin * 1000.0 / clock_mhz - self.register_ns

    def fastest_mhz(self, logic_ns: float) -> float:
        """The clock at which so much logic fits between two registers."""
        return self.margin * 1000.0 / (self.register_ns + logic_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingDelays(Facts):
    """The delays by which synthesis chooses the tables of logic, which are not those of the routed design.

    It takes registers, RAM blocks and multiplier blocks for places where a signal begins at once.

    Attributes:
        wire: to a cell.
        pins: from the inputs of a table to its result, by how many inputs it has; the first one takes what
            comes last.
        carry: onto a carry chain and off it; ``carry_bit`` along it.
    """

    wire: float
    pins: tuple[tuple[float, ...], ...]
    carry: float
    carry_bit: float

    def through(self, inputs: int) -> float:
        """Through a table of so many inputs, all of which come at once."""
        return self.wire + self.pins[inputs - 1][-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalDelays(Facts):
    """How long signals take through cells and the wires between them: what the estimated clock is from.

    Attributes:
        clock_out: from the clock to the output of a flip-flop.
        wire: from a cell to the next; ``beside``: from a table or a chain to a flip-flop, which may be the
            one beside it; ``far`` more to or from a multiplier block or a RAM block.
        leaving: more for the wire behind a flip-flop or a RAM block, whose readers stand in several places.
        spread: more for a wire with many readers, for each doubling of them beyond eight.
        control: the same of enables and resets of registers, beyond 64 readers.
        shared: more for an enable or a reset that more than eight flip-flops have.
        table: a lookup table. ``joined``: what joins the tables of a function of more inputs, for each one,
            of at most ``joined_inputs`` where the flattest tables are timed.
        carry: onto a carry chain and off it; ``carry_bit`` along it, and ``compare_bit`` along that of a
            comparison, 0 where it is the same.
        shift: each place of the distance of a shift by a variable; 0 where it is made of levels of tables.
        flattest: whether synthesis makes the flattest tables of logic, which is timed by its cuts then.
        skewed: whether the bits of a sum are known to come one after the other, so that the carry of a sum
            behind it runs beside its own.
        joins_controls: whether an enable or a reset of several conditions takes tables that join them.
        block: a multiplier block. ``block_out``: from the clock to the output of its register, if that is
            in use, and ``block_setup`` in front of its registers. ``block_sum``: what the adder behind its
            product adds, 0 where sums are timed as logic.
        memory: from the clock to the output of a RAM block; ``ultra``: of one of 288 kbit.
        setup: in front of a flip-flop; ``reset_setup`` more in front of its reset.
        crossing: more for a wire over a border between two dies, at each of them.
        large: by what part all wires are longer in designs of more than 4,096 tables, for each doubling.
        mapping: what synthesis chooses the flattest tables by; None where it is these delays.
    """

    clock_out: float
    wire: float
    far: float
    spread: float
    table: float
    joined: float
    carry: float
    carry_bit: float
    block: float
    memory: float
    setup: float
    control: float = 0.0
    shared: float = 0.0
    ultra: float = 0.0
    large: float = 0.0
    block_out: float = 0.0
    block_setup: float = 0.0
    block_sum: float = 0.0
    compare_bit: float = 0.0
    shift: float = 0.0
    beside: float = 0.0
    leaving: float = 0.0
    reset_setup: float = 0.0
    joined_inputs: int = 0
    crossing: float = 0.0
    flattest: bool = False
    skewed: bool = False
    joins_controls: bool = False
    mapping: MappingDelays | None = None

    @property
    def register_out(self) -> float:
        """From the clock to the output of a flip-flop, with what the wire behind it is longer."""
        return self.clock_out + self.leaving

    def in_design(self, tables: int, blocks: int) -> SignalDelays:
        """The delays in a design with so many lookup tables, and multiplier and RAM blocks.

        Wires are longer in a larger design, and those to blocks, which stand in a few rows of the
        device, the more of them are used.
        """
        size = max(0.0, log2(max(1, tables) / 256))
        longer = 1.0 + 0.03 * size + self.large * max(0.0, size - 4.0)
        wider = 1.0 + min(1.6, 0.08 * blocks)
        return replace(self, wire=self.wire * longer, far=self.far * wider)
