"""The AXI4-Lite slave that holds the control registers, in AMD's layout.

Offsets, bits and what clears them are those that Vitis HLS writes for ``ap_ctrl_hs``, so that a driver
for one serves the other: 0x00 has start (bit 0), done (1, cleared by reading), idle (2), ready (3,
cleared by reading), restart (7) and interrupt (9); 0x04 enables the interrupt, 0x08 its two sources, 0x0c
says which has come, and writing a 1 there toggles it. Arguments follow from 0x10 on; behind each a word stays
free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..emit.builder import ModuleBuilder, identifier
from ..netlist.locations import Locations
from .board import CONTROL, ENABLE, FIRST_ARGUMENT, GLOBAL_ENABLE, STATUS, Board, Register
from .parts import concat, flag, reserve_ports

_Written = Callable[..., str]
_INPUTS = {
    "AWVALID": 1,
    "WDATA": 32,
    "WSTRB": 4,
    "WVALID": 1,
    "BREADY": 1,
    "ARVALID": 1,
    "RREADY": 1,
}
_OUTPUTS = {
    "AWREADY": 1,
    "WREADY": 1,
    "BRESP": 2,
    "BVALID": 1,
    "ARREADY": 1,
    "RDATA": 32,
    "RRESP": 2,
    "RVALID": 1,
}


def lite_ports(address_bits: int) -> tuple[dict[str, int], dict[str, int]]:
    """Inputs and outputs of an AXI4-Lite slave without their prefix, by name and width."""
    return {"AWADDR": address_bits, **_INPUTS, "ARADDR": address_bits}, _OUTPUTS


def lay_out(
    results: Iterable[tuple[str, int]],
    arguments: Iterable[tuple[str, int]],
    behind: Iterable[tuple[str, int]],
) -> tuple[Register, ...]:
    """Registers of some results, arguments, and what else is read, given by name and width."""
    found, offset = [], FIRST_ARGUMENT
    for written, named in ((False, results), (True, arguments), (False, behind)):
        for name, width in named:
            register = Register(name, offset, width, written)
            found.append(register)
            offset += 4 * (register.words + 1)
    return tuple(found)


def control_module(board: Board) -> ModuleBuilder:
    """The slave of a wrapper.

    Ports besides those of :func:`lite_ports`: ``ap_done`` (one cycle; the core is then ready, too),
    ``ap_idle`` and the scalar results, ``res_<name>``; out ``ap_start`` (as long as a start is asked
    for), ``interrupt``, and every argument.
    """
    return _Control(board).emit()


class _Control:
    def __init__(self, board: Board) -> None:
        self.registers = board.registers or ()
        self.bits = board.address_bits
        self.text = ModuleBuilder(f"{board.core}_control_s_axi", Locations())

    def emit(self) -> ModuleBuilder:
        text = self.text
        inputs, outputs = lite_ports(self.bits)
        inputs |= {"ap_done": 1, "ap_idle": 1}
        inputs |= {f"res_{identifier(r.name)}": r.width for r in self.registers if not r.written}
        names = [f"arg_{identifier(r.name)}" for r in self.registers if r.written]
        reserve_ports(text, inputs, (*outputs, "ap_start", "interrupt", *names))
        write, address = self._write_channel()
        read = self._read_channel()
        interrupt = self._control(write, address, read)
        for register in self.registers:
            if register.written:
                text.output(
                    f"arg_{identifier(register.name)}",
                    f"i{register.width}",
                    self._held[register.name],
                )
        text.output("ap_start", "i1", self._start)
        text.output("interrupt", "i1", interrupt)
        for name in ("BRESP", "RRESP"):
            text.output(name, "i2", text.const(0, 2))
        return text

    # --- channels ---------------------------------------------------------------------

    def _write_channel(self) -> tuple[str, str]:
        """Whether a word is written, and the number of the word."""
        text = self.text
        data, answer = text.named("write_data"), text.named("write_answer")
        idle = text.invert(text.any_of(data, answer))
        taken = text.all_of("%AWVALID", idle)
        write = text.all_of("%WVALID", data)
        flag(text, data, taken, write)
        flag(text, answer, write, text.all_of(answer, "%BREADY"))
        words = self.bits - 2
        word = text.slice("%AWADDR", 2, words, self.bits)
        address = text.register(text.named("write_word"), word, words, enable=taken)
        text.output("AWREADY", "i1", idle)
        text.output("WREADY", "i1", data)
        text.output("BVALID", "i1", answer)
        return write, address

    def _read_channel(self) -> str:
        """Whether an address of a read is taken."""
        text = self.text
        valid = text.named("read_valid")
        idle = text.invert(valid)
        taken = text.all_of("%ARVALID", idle)
        flag(text, valid, taken, text.all_of(valid, "%RREADY"))
        text.output("ARREADY", "i1", idle)
        text.output("RVALID", "i1", valid)
        return taken

    # --- registers --------------------------------------------------------------------

    def _control(self, write: str, address: str, read: str) -> str:
        text, words = self.text, self.bits - 2
        self._held: dict[str, str] = {}
        values: list[tuple[int, str]] = []
        wanted = text.slice("%ARADDR", 2, words, self.bits)

        def written(offset: int, lane: int = 0) -> str:
            there = text.compare("eq", address, text.const(offset // 4, words), words)
            return text.all_of(write, there, text.slice("%WSTRB", lane, 1, 4))

        def reads(offset: int) -> str:
            return text.all_of(
                read, text.compare("eq", wanted, text.const(offset // 4, words), words)
            )

        def bit(number: int) -> str:
            return text.slice("%WDATA", number, 1, 32)

        restart = text.named("auto_restart")
        text.register(restart, bit(7), 1, enable=written(CONTROL), reset=0)
        self._start = text.named("ap_start_q")
        asked = text.all_of(written(CONTROL), bit(0))
        cleared = text.all_of("%ap_done", text.invert(restart))
        flag(text, self._start, asked, cleared)
        done, ready = text.named("done_seen"), text.named("ready_seen")
        for seen in (done, ready):
            flag(text, seen, "%ap_done", reads(CONTROL))

        enabled = text.named("interrupt_enable")
        text.register(enabled, bit(0), 1, enable=written(GLOBAL_ENABLE), reset=0)
        sources, pending = [], []
        for number, name in enumerate(("done", "ready")):
            source = text.named(f"{name}_enable")
            text.register(source, bit(number), 1, enable=written(ENABLE), reset=0)
            come = text.named(f"{name}_status")
            toggled = text.binary("xor", come, text.all_of(written(STATUS), bit(number)), 1)
            set_now = text.all_of("%ap_done", source)
            text.register(come, text.any_of(set_now, toggled), 1, reset=0)
            sources.append(source)
            pending.append(come)
        interrupt = text.all_of(enabled, text.any_of(*pending))

        zero = text.const(0, 1)
        state = [self._start, done, "%ap_idle", ready, zero, zero, zero, restart, zero, interrupt]
        values.append((CONTROL, self._word(state)))
        values.append((GLOBAL_ENABLE, self._word([enabled])))
        values.append((ENABLE, self._word(sources)))
        values.append((STATUS, self._word(pending)))
        for register in self.registers:
            values += self._argument(register, written)
        chosen = self._chosen({offset // 4: value for offset, value in values}, wanted, words)
        data = text.register(text.named("read_data"), chosen, 32, enable=read)
        text.output("RDATA", "i32", data)
        return interrupt

    def _chosen(self, values: dict[int, str], wanted: str, bits: int) -> str:
        """The word of a number, 0 where there is none: a tree with a level for each bit of the number."""
        if not values:
            return self.text.const(0, 32)
        if not bits:
            return values[0]
        half = 1 << (bits - 1)
        low = self._chosen({n: v for n, v in values.items() if n < half}, wanted, bits - 1)
        high = self._chosen({n - half: v for n, v in values.items() if n >= half}, wanted, bits - 1)
        upper = self.text.slice(wanted, bits - 1, 1, self.bits - 2)
        return self.text.mux(upper, high, low, 32)

    def _word(self, bits: list[str]) -> str:
        """A word of single bits, lowest first."""
        text = self.text
        return concat(
            text, [*((b, 1) for b in bits), (text.const(0, 32 - len(bits)), 32 - len(bits))]
        )

    def _argument(self, register: Register, written: _Written) -> list[tuple[int, str]]:
        """The words of a register, with their offsets; the host's writes go to it."""
        text = self.text
        words, parts = [], []
        for number in range(register.words):
            offset, low = register.offset + 4 * number, 32 * number
            width = min(32, register.width - low)
            if register.written:
                value = self._bytes(f"{register.name}_{number}", width, offset, written)
                parts.append((value, width))
            else:
                source = f"%res_{identifier(register.name)}"
                value = text.slice(source, low, width, register.width)
            words.append((offset, text.extend(value, width, 32, signed=False)))
        if parts:
            self._held[register.name] = concat(text, parts)
        return words

    def _bytes(self, name: str, width: int, offset: int, written: _Written) -> str:
        """A register of up to 32 bits whose bytes are written by their strobes."""
        text, parts = self.text, []
        for lane in range(-(-width // 8)):
            size = min(8, width - 8 * lane)
            value = text.slice("%WDATA", 8 * lane, size, 32)
            held = text.named(f"{name}_byte{lane}")
            text.register(held, value, size, enable=written(offset, lane), reset=0)
            parts.append((held, size))
        return concat(text, parts)
