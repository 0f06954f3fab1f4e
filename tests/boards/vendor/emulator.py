"""A board without one: registers and memory around the simulated wrapper, for pynq, pyxrt and XRT.

Host and device copies of a buffer are apart, as with a cache between them: what is not synchronised in the
right direction is not there. Words are coded by ``tests/interfaces/cocotb_axi/outside.py``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from allo.dialects.boundary.storage import natural_dtype
from allo.ir.types import Fixed, Float, UFixed, UInt
from tests.interfaces.cocotb_axi.outside import image, memory_cell, words_of

START, DONE, IDLE = 1, 2, 4
FIRST, STEP = 0x1_0000_1000, 0x10_0000


def value_of(data: bytes, dtype: Any, shape: Any) -> Any:
    """The array, or for no shape the scalar, of cells in memory."""
    size = memory_cell(dtype.bits) // 8
    signed = not isinstance(dtype, (UInt, UFixed, Float))
    words = [
        int.from_bytes(data[k : k + size], "little", signed=signed)
        for k in range(0, len(data), size)
    ]
    natural = natural_dtype(dtype)
    if isinstance(dtype, (Fixed, UFixed)):
        found = np.array([w / 2**dtype.fracs for w in words], natural)
    elif isinstance(dtype, Float):
        found = np.array(words, f"u{dtype.bits // 8}").view(natural)
    else:
        found = np.array(words).astype(natural)
    return found[0].item() if shape is None else found.reshape(shape)


class Machine:
    """Registers and memory of a design; a write of START runs it."""

    def __init__(self, module: Any) -> None:
        self.module, self.board = module, module.design.board
        self.registers: dict[int, int] = {}
        self.memory: dict[int, bytearray] = {}
        self.done = False

    def allocate(self, size: int) -> int:
        """The address of new memory of a device, which holds no zeros."""
        address = FIRST + STEP * len(self.memory)
        self.memory[address] = bytearray(b"\xa5" * size)
        return address

    def write(self, offset: int, value: int) -> None:
        """Write a register of 32 bits."""
        if not 0 <= value < 1 << 32:
            raise ValueError(f"{value:#x} is no word")
        if offset == 0 and value & START:
            self._run()
        elif offset >= 0x10:
            self.registers[offset] = value

    def read(self, offset: int) -> int:
        """Read one; reading clears done."""
        if offset == 0:
            state, self.done = IDLE | (DONE if self.done else 0), False
            return state
        return self.registers.get(offset, 0)

    def _held(self, name: str) -> int:
        register = next(r for r in self.board.registers if r.name == name)
        words = range(register.words)
        return sum(self.registers.get(register.offset + 4 * n, 0) << 32 * n for n in words)

    def _lines(self, name: str) -> list[tuple[int, int, int]]:
        """Where each line of the bus of an array lies: address, offset, bytes."""
        array = next(a for a in self.board.arrays if a.name == name)
        widths = {m.bundle: m.width // 8 for m in self.board.masters}
        line = widths[array.bundles[0]] if len(array.parts) > 1 else array.bytes
        homes = [self._held(part.register) for part in array.parts]
        found = []
        for number, at in enumerate(range(0, array.bytes, line)):
            row, home = divmod(number, len(homes))
            found.append((homes[home], row * line, min(line, array.bytes - at)))
        return found

    def _whole(self, name: str) -> bytes:
        """The bytes of an array, whose lines lie in its buffers in turn."""
        return b"".join(bytes(self.memory[a][o : o + n]) for a, o, n in self._lines(name))

    def _run(self) -> None:
        design, signature = self.module.design, self.module.signature
        pairs = list(zip(design.arguments, signature.arguments, strict=True))
        given = []
        for name, parameter in pairs:
            bits = self._held(name)
            if parameter.shape is not None:
                given.append(value_of(self._whole(name), parameter.dtype, parameter.shape))
                continue
            width = parameter.dtype.bits
            bits &= (1 << width) - 1
            if not isinstance(parameter.dtype, (UInt, Float)) and bits >> width - 1:
                bits -= 1 << width
            cell = memory_cell(width) // 8
            data = (bits & (1 << 8 * cell) - 1).to_bytes(cell, "little")
            given.append(value_of(data, parameter.dtype, None))
        found = self.module(*given)
        returned = found if isinstance(found, list) else [found] * (found is not None)
        self._put(pairs, given)
        self._put(list(zip(design.results, signature.results, strict=True)), returned)
        self.done = True

    def _put(self, pairs: list[Any], values: list[Any]) -> None:
        stored = {a.name for a in self.board.arrays if a.stored}
        for (name, parameter), value in zip(pairs, values, strict=True):
            words, width = words_of(value, parameter.dtype), parameter.dtype.bits
            if name in stored:
                data, begin = image(words, memory_cell(width), width, None), 0
                for address, offset, count in self._lines(name):
                    self.memory[address][offset : offset + count] = data[begin : begin + count]
                    begin += count
            elif any(r.name == name and not r.written for r in self.board.registers):
                register = next(r for r in self.board.registers if r.name == name)
                for n in range(register.words):
                    part = (words[0] & (1 << width) - 1) >> 32 * n & 0xFFFFFFFF
                    self.registers[register.offset + 4 * n] = part


def pynq_module(machine: Machine, cell: str) -> Any:
    """What ``import pynq`` gives the driver: Overlay and allocate."""

    class Buffer(np.ndarray):
        device_address = 0

        def sync_to_device(self) -> None:
            machine.memory[self.device_address][:] = bytes(self)

        def sync_from_device(self) -> None:
            self[:] = np.frombuffer(bytes(machine.memory[self.device_address]), np.uint8)

        def freebuffer(self) -> None:
            machine.memory[self.device_address] = bytearray()

    def allocate(shape: tuple[int, ...], dtype: Any) -> Buffer:
        buffer = np.zeros(shape, dtype).view(Buffer)
        buffer.device_address = machine.allocate(buffer.nbytes)
        return buffer

    ip = SimpleNamespace(read=machine.read, write=machine.write)
    return SimpleNamespace(Overlay=lambda image: SimpleNamespace(**{cell: ip}), allocate=allocate)


def pyxrt_module(machine: Machine, described: dict[str, Any]) -> Any:
    """What ``import pyxrt`` gives the driver, by the names and arguments of XRT's pyxrt.pyi."""
    way = SimpleNamespace(XCL_BO_SYNC_BO_TO_DEVICE=0, XCL_BO_SYNC_BO_FROM_DEVICE=1)
    offsets = {r.name: (r.offset, r.words) for r in machine.board.registers}
    ordered = [r.name for r in machine.board.registers if r.written]

    class bo:
        normal = 0

        def __init__(self, device: Any, size: int, flags: int, group: int) -> None:
            self.host, self.group = bytearray(size), group
            self.address = machine.allocate(size)

        def write(self, data: bytes, seek: int) -> None:
            self.host[seek : seek + len(data)] = data

        def read(self, size: int, skip: int) -> np.ndarray:
            return np.frombuffer(bytes(self.host[skip : skip + size]), np.int8)

        def sync(self, direction: int, size: int, offset: int) -> None:
            part = slice(offset, offset + size)
            if direction == way.XCL_BO_SYNC_BO_TO_DEVICE:
                machine.memory[self.address][part] = self.host[part]
            else:
                self.host[part] = machine.memory[self.address][part]

    class kernel:
        def __init__(self, device: Any, loaded: str, name: str) -> None:
            if name != described["kernel"]:
                raise ValueError(f"the xclbin has no kernel {name}")

        def group_id(self, index: int) -> int:
            return 100 + index

    class run:
        def __init__(self, of: kernel) -> None:
            self.set: set[int] = set()

        def set_arg(self, index: int, value: Any) -> None:
            if isinstance(value, bo) and value.group != 100 + index:
                raise ValueError("a buffer in another bank than its argument's")
            bits = value.address if isinstance(value, bo) else value
            first, words = offsets[ordered[index]]
            for n in range(words):
                machine.write(first + 4 * n, bits >> 32 * n & 0xFFFFFFFF)
            self.set.add(index)

        def start(self) -> None:
            if self.set != set(range(len(ordered))):
                raise ValueError("an argument is not set")
            machine.write(0, START)

        def wait(self, milliseconds: int) -> str:
            return "completed" if machine.read(0) & DONE else "timeout"

    return SimpleNamespace(
        device=lambda index: SimpleNamespace(load_xclbin=lambda path: f"uuid of {path}"),
        kernel=kernel, run=run, bo=bo, xclBOSyncDirection=way,
        ert_cmd_state=SimpleNamespace(ERT_CMD_STATE_COMPLETED="completed"),
    )  # fmt: skip
