"""What drives a wrapper in the simulator: masters, slaves and streams of cocotbext-axi, which others wrote.

Icarus Verilog starts this module through cocotb; the plan of the runs is a file of JSON (:mod:`.outside`).
"""

from __future__ import annotations

import json
import logging
import os
import random
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiReadBus,
    AxiSlaveRead,
    AxiSlaveWrite,
    AxiStreamBus,
    AxiStreamSink,
    AxiStreamSource,
    AxiWriteBus,
)
from cocotbext.axi.sparse_memory import SparseMemory

CONTROL, GLOBAL_ENABLE, ENABLE, STATUS = 0x00, 0x04, 0x08, 0x0C
START, DONE, IDLE, READY, RESTART = 1, 2, 4, 8, 0x80
STATE = START | DONE | IDLE | READY | RESTART
LIMIT_NS = 400_000


class Memory(SparseMemory):
    """Bytes behind AXI slaves; those in ``refused`` answer with an error, and what is read is counted."""

    def __init__(self) -> None:
        super().__init__(1 << 64)
        self.refused, self.has_refused = range(0), False

    async def read(self, address: int, length: int) -> bytes:
        self._check(address, length)
        return super().read(address, length)

    async def write(self, address: int, data: bytes) -> None:
        self._check(address, len(data))
        super().write(address, data)

    def _check(self, address: int, length: int) -> None:
        if address < self.refused.stop and address + length > self.refused.start:
            self.has_refused = True
            raise ValueError("refused")

    def put(self, address: int, data: bytes) -> None:
        super().write(address, data)

    def get(self, address: int, length: int) -> bytes:
        return super().read(address, length)


class Bench:
    """The wrapper of a plan and what stands around it."""

    def __init__(self, dut: Any, plan: dict[str, Any]) -> None:
        self.dut, self.plan = dut, plan
        self.clock, reset = dut.ap_clk, dut.ap_rst_n
        args = (self.clock, reset)
        self.memory, self.paused = Memory(), []
        self.lite = None
        if plan["lite"]:
            self.lite = AxiLiteMaster(
                AxiLiteBus.from_prefix(dut, "s_axi_control"), *args, reset_active_level=False
            )
            self._paused(self.lite.write_if, self.lite.read_if)
        for master in plan["masters"]:
            prefix = f"m_axi_{master['bundle']}"
            for wanted, slave, bus in (
                (master["reads"], AxiSlaveRead, AxiReadBus),
                (master["writes"], AxiSlaveWrite, AxiWriteBus),
            ):
                if wanted:
                    found = bus.from_prefix(dut, prefix)
                    self._paused(slave(found, *args, self.memory, reset_active_level=False))
        self.streams: dict[str, Any] = {}
        for stream in plan["streams"]:
            kind = AxiStreamSink if stream["output"] else AxiStreamSource
            bus = AxiStreamBus.from_prefix(dut, stream["name"])
            found = kind(bus, *args, reset_active_level=False, byte_size=8)
            self.streams[stream["name"]] = found
            self.paused.append(found)

    def _paused(self, *sides: Any) -> None:
        for side in sides:
            for name in ("aw", "w", "b", "ar", "r"):
                channel = getattr(side, f"{name}_channel", None)
                if channel is not None:
                    self.paused.append(channel)

    async def run(self, run: dict[str, Any]) -> dict[str, Any]:
        """One run, with delays drawn from its seed: what memory, streams and registers hold after it."""
        rng = random.Random(run["seed"])
        chances = random.Random(rng.random())
        for channel in self.paused:
            share = chances.choice((0.0, run["stalls"], run["stalls"] / 4))
            channel.set_pause_generator(_pauses(random.Random(chances.random()), share))
        self.memory.segs.clear()
        for block in run["blocks"]:
            self.memory.put(block["address"], bytes.fromhex(block["data"]))
        self.memory.refused, self.memory.has_refused = range(*run["refused"]), False
        for name, data in run["sent"].items():
            self.streams[name].send_nowait(bytes.fromhex(data))
        answers = await (self._by_registers(run, rng) if self.lite else self._by_ports(run))
        taken = {}
        for name, stream in self.streams.items():
            if isinstance(stream, AxiStreamSink):
                frame = await stream.recv()
                taken[name] = bytes(frame.tdata).hex()
                if not stream.empty():
                    raise ValueError(f"{name} has more than one frame in a run")
        memory = [self.memory.get(b["address"], len(b["data"]) // 2).hex() for b in run["blocks"]]
        refused = self.memory.has_refused
        return {"memory": memory, "taken": taken, "registers": answers, "refused": refused}

    # --- control registers ----------------------------------------------------------------

    async def _by_registers(self, run: dict[str, Any], rng: random.Random) -> dict[str, int]:
        lite = self.lite
        written = list(run["registers"].items())
        rng.shuffle(written)
        for offset, text in written:
            data = bytes.fromhex(text)
            cut = rng.randrange(len(data)) if rng.random() < 0.6 else 0
            await lite.write(int(offset) + cut, data[cut:])
            if cut:
                await lite.write(int(offset), data[:cut])
        for offset, text in written:
            held = int.from_bytes((await lite.read(int(offset), len(text) // 2)).data, "little")
            wanted, mask = int.from_bytes(bytes.fromhex(text), "little"), run["masks"][offset]
            _equal(held & mask, wanted & mask, f"register {offset}")
        await self._start(rng, run["restarts"])
        answers = {}
        for name, (offset, words) in run["results"].items():
            data = (await lite.read(offset, 4 * words)).data
            answers[name] = int.from_bytes(data, "little")
        return answers

    async def _start(self, rng: random.Random, restarts: int) -> None:
        """Start a run and wait until it is done, by its interrupt or by polling."""
        lite, by_interrupt = self.lite, rng.random() < 0.5
        _equal(await self._word(CONTROL) & STATE, IDLE, "control before a run")
        await lite.write_dword(GLOBAL_ENABLE, int(by_interrupt))
        await lite.write_dword(ENABLE, int(by_interrupt))
        await lite.write_dword(CONTROL, START | (RESTART if restarts else 0))
        for _ in range(restarts):
            await self._polled(DONE)
        if restarts:
            await lite.write_dword(CONTROL, 0)
            await self._polled(IDLE)
        if by_interrupt:
            if not int(self.dut.interrupt.value):
                await with_timeout(RisingEdge(self.dut.interrupt), LIMIT_NS, "ns")
            _equal(await self._word(STATUS), 1, "the status of the interrupt")
            await lite.write_dword(STATUS, 1)
            if not restarts:
                _equal(
                    await self._word(CONTROL) & STATE, DONE | IDLE | READY, "control after a run"
                )
        elif not restarts:
            _equal(await self._polled(DONE) & STATE, DONE | IDLE | READY, "control after a run")
        await self._word(CONTROL)
        _equal(await self._word(CONTROL) & STATE, IDLE, "control after done was read")
        _equal(await self._word(STATUS), 0, "the status after it was toggled")
        _equal(int(self.dut.interrupt.value), 0, "the interrupt after its status was toggled")

    async def _polled(self, bits: int) -> int:
        """The first control word that has these bits."""
        for _ in range(LIMIT_NS // 50):
            state = await self._word(CONTROL)
            if state & bits:
                return state
        raise TimeoutError("a run has not ended")

    async def _word(self, offset: int) -> int:
        return await self.lite.read_dword(offset)

    # --- ports ----------------------------------------------------------------------------

    async def _by_ports(self, run: dict[str, Any]) -> dict[str, int]:
        for name, value in run["pins"].items():
            getattr(self.dut, name).value = value
        self.dut.ap_start.value = 1
        while True:
            await RisingEdge(self.clock)
            if int(self.dut.ap_ready.value):
                self.dut.ap_start.value = 0
            if int(self.dut.ap_done.value):
                break
        self.dut.ap_start.value = 0
        await RisingEdge(self.clock)
        return {name: int(getattr(self.dut, name).value) for name in self.plan["result_ports"]}


def _pauses(rng: random.Random, share: float) -> Any:
    """Whether a channel pauses, cycle after cycle: single cycles, and stretches of many."""
    while share:
        paused = rng.random() < share
        for _ in range(rng.choice((1, 1, 2, 30)) if paused else rng.choice((1, 3, 10))):
            yield paused
    yield False


def _equal(found: int, wanted: int, what: str) -> None:
    if found != wanted:
        raise ValueError(f"{what} is {found:#x} in place of {wanted:#x}")


@cocotb.test()
async def runs(dut: Any) -> None:
    """Every run of the plan."""
    logging.getLogger("cocotb").setLevel(logging.WARNING)
    plan = json.loads(Path(os.environ["ALLO_PLAN"]).read_text())
    dut.ap_rst_n.value = 0
    await ClockCycles(dut.ap_clk, 3)
    bench = Bench(dut, plan)
    dut.ap_rst_n.value = 1
    await ClockCycles(dut.ap_clk, 2)
    answers = []
    for number, run in enumerate(plan["runs"]):
        try:
            answers.append(await with_timeout(bench.run(run), 4 * LIMIT_NS, "ns"))
        except Exception as error:
            Path(os.environ["ALLO_FAULT"]).write_text(
                f"run {number}: {type(error).__name__}: {error}"
            )
            raise
    Path(os.environ["ALLO_ANSWERS"]).write_text(
        json.dumps({"runs": answers, "cycles": int(get_sim_time("ns") / 10)})
    )
