"""Two AXI4 masters of cocotbext-axi, which others wrote, at a board's memory: Icarus Verilog starts this."""

from __future__ import annotations

import json
import logging
import os
import random
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiMaster

OPERATIONS, REGION, LONGEST = 60, 6000, 700


def _pauses(rng: random.Random) -> Any:
    while True:
        paused = rng.random() < 0.3
        for _ in range(rng.choice((1, 2, 20)) if paused else rng.choice((1, 5, 50))):
            yield paused


async def _work(master: Any, base: int, rng: random.Random) -> int:
    """Random reads and writes of any address and length; how many bytes passed."""
    held, passed = bytearray(REGION), 0
    await master.write(base, bytes(held), awid=0)
    for _ in range(OPERATIONS):
        length = rng.choice((1, 2, 3, 4, 8, 17, 64, rng.randrange(1, LONGEST)))
        start = rng.randrange(REGION - length)
        if rng.random() < 0.5:
            data = rng.randbytes(length)
            held[start : start + length] = data
            await master.write(base + start, data, awid=0)
        else:
            found = (await master.read(base + start, length, arid=0)).data
            if found != held[start : start + length]:
                raise ValueError(f"{length} bytes at {base + start:#x} are not what was written")
        passed += length
    found = (await master.read(base, REGION, arid=0)).data
    if found != held:
        raise ValueError(f"the bytes at {base:#x} are not what was written in all")
    return passed


@cocotb.test()
async def runs(dut: Any) -> None:
    """Both masters at once."""
    logging.getLogger("cocotb").setLevel(logging.WARNING)
    await ClockCycles(dut.link_clock, 20)
    dut.reset_all.value = 0
    while not int(dut.awake_memory.value):
        await RisingEdge(dut.link_clock)
    tasks = []
    for number, name in enumerate("ab"):
        bus = AxiBus.from_prefix(dut, f"core_m_axi_{name}")
        master = AxiMaster(bus, dut.link_clock, dut.reset_all, max_burst_len=16)
        rng = random.Random(number)
        for channel in (
            master.write_if.w_channel,
            master.write_if.b_channel,
            master.read_if.r_channel,
        ):
            channel.set_pause_generator(_pauses(random.Random(rng.random())))
        # The regions lie in the same banks of the memory, in other rows.
        tasks.append(cocotb.start_soon(_work(master, number * 0x4000 + 0x2000, rng)))
    try:
        passed = [await task for task in tasks]
    except Exception as error:
        Path(os.environ["ALLO_FAULT"]).write_text(f"{type(error).__name__}: {error}")
        raise
    Path(os.environ["ALLO_ANSWERS"]).write_text(
        json.dumps({"passed": passed, "fault": int(dut.fault.value)})
    )
