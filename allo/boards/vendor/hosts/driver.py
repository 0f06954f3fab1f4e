"""Calls a design of Allo on a board, as a function of NumPy arrays: under PYNQ, or by XRT with pyxrt.

    from driver import Design

    gemm = Design()              # under PYNQ: the .bit and .hwh beside this file
    gemm = Design("gemm.xclbin") # with pyxrt: a card that XRT knows
    C = gemm(A, B)               # arrays that the kernel changes are changed in place

It needs NumPy and pynq or pyxrt, and the file design.json beside it, which Allo wrote.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

CONTROL, START, DONE, IDLE = 0x00, 1, 2, 4


class DesignError(Exception):
    """An argument that the design does not take, or a run that did not end well."""


class Design:
    """A design on a board.

    Args:
        image: the .bit (PYNQ) or .xclbin (XRT); the one that Allo names where it is left out.
        seconds: how long a run may take.
        device: which card of XRT.
    """

    def __init__(self, image: str | None = None, seconds: float = 60.0, device: int = 0) -> None:
        here = Path(__file__).resolve().parent
        self.described = json.loads((here / "design.json").read_text())
        path = image or str(here / self.described["image"])
        backend = _Xrt if path.endswith(".xclbin") else _Pynq
        self.board = backend(path, self.described, seconds, device)

    def __call__(self, *given: Any) -> Any:
        """One run; what the kernel returns."""
        arguments, results = self.described["arguments"], self.described["results"]
        if len(given) != len(arguments):
            raise DesignError(
                f"{self.described['name']} takes {len(arguments)} arguments, not {len(given)}."
            )
        pairs = list(zip(arguments, given))  # noqa: B905  boards have Python 3.8
        for argument, value in pairs:
            _check(argument, value)
        scalars = [(a, _bits(a, v)) for a, v in pairs if a["shape"] is None]
        arrays = [(a, v) for a, v in pairs if a["shape"] is not None]
        made = [r for r in results if r["shape"] is not None]
        arrays += [(r, np.zeros(r["shape"], r["dtype"])) for r in made]
        dealt = [each for a, v in arrays for each in deal(a, to_bytes(a, v))]
        read = self.board.run(scalars, dealt)
        for argument, value in arrays:
            if argument["stored"]:
                value[...] = from_bytes(argument, join(argument, read))
        held = {a["name"]: v for a, v in arrays}
        found = [
            _value(r, read[r["name"]]) if r["shape"] is None else held[r["name"]] for r in results
        ]
        return None if not found else found[0] if len(found) == 1 else found


def _check(argument: dict[str, Any], value: Any) -> None:
    name, shape = argument["name"], argument["shape"]
    if shape is None:
        if np.ndim(value):
            raise DesignError(f"{name} is a scalar, not an array.")
        return
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype(argument["dtype"]):
        raise DesignError(f"{name} is an array of {argument['dtype']}.")
    if list(value.shape) != shape:
        raise DesignError(f"{name} has the shape {tuple(shape)}, not {value.shape}.")


def _words(argument: dict[str, Any], values: np.ndarray) -> np.ndarray:
    """Elements as the unsigned integers that memory holds; the design looks at the lower bits alone."""
    kind = values.dtype.kind
    if argument["fraction"] is not None:
        scaled = np.trunc(np.ldexp(values.astype(np.float64), argument["fraction"]))
        values = scaled.astype(np.int64 if argument["signed"] else np.uint64)
    elif kind == "f":
        return values.view(f"u{values.itemsize}")
    return values.astype(f"u{argument['cell'] // 8}")


def to_bytes(argument: dict[str, Any], values: np.ndarray) -> bytes:
    """An array as it lies in the memory of the board."""
    words = _words(argument, np.ascontiguousarray(values))
    if not argument.get("packed"):
        return words.tobytes()
    cells = words.reshape(-1).view(np.uint8).reshape(words.size, -1)
    bits = np.unpackbits(cells, axis=1, bitorder="little")[:, : argument["width"]]
    return np.packbits(bits.reshape(-1), bitorder="little").tobytes()


def deal(argument: dict[str, Any], data: bytes) -> list[Any]:
    """What lies in each buffer of an array: the lines of the bus lie in them in turn."""
    parts = argument.get("parts")
    if parts is None:
        return [(argument, data)]
    line, count = argument["line"], len(parts)
    lines = np.zeros((parts[0]["bytes"] // line * count, line), np.uint8)
    lines.reshape(-1)[: len(data)] = np.frombuffer(data, np.uint8)
    return [
        ({**argument, **part, "name": (argument["name"], n)}, lines[n::count].tobytes())
        for n, part in enumerate(parts)
    ]


def join(argument: dict[str, Any], read: dict[Any, Any]) -> Any:
    """The bytes of an array, of what was read from its buffers."""
    name, parts = argument["name"], argument.get("parts")
    if parts is None:
        return read[name]
    line, size = argument["line"], argument["cell"] // 8
    lines = [np.frombuffer(read[name, n], np.uint8).reshape(-1, line) for n in range(len(parts))]
    whole = np.stack(lines, axis=1).reshape(-1)
    count = int(np.prod(argument["shape"]))
    return whole[
        : -(-count * argument["width"] // 8) if argument.get("packed") else size * count
    ].tobytes()


def from_bytes(argument: dict[str, Any], data: Any) -> np.ndarray:
    """An array of what lies in the memory of the board."""
    dtype, size = np.dtype(argument["dtype"]), argument["cell"] // 8
    raw = np.frombuffer(data, np.uint8)
    if argument.get("packed"):
        raw = _unpacked(argument, raw)
    if argument["fraction"] is not None:
        cells = raw.view(f"{'i' if argument['signed'] else 'u'}{size}")
        found = np.ldexp(cells.astype(np.float64), -argument["fraction"])
    elif dtype.kind == "f":
        found = raw.view(dtype)
    else:
        found = raw.view(f"{'i' if argument['signed'] else 'u'}{size}").astype(dtype)
    shaped: np.ndarray = found.reshape(argument["shape"])
    return shaped


def _unpacked(argument: dict[str, Any], raw: np.ndarray) -> np.ndarray:
    """The bytes of elements that lie without bits between them, each in a cell with its sign."""
    width, count = argument["width"], int(np.prod(argument["shape"]))
    bits = np.unpackbits(raw, bitorder="little")[: count * width].reshape(count, width)
    sign = bits[:, -1:] if argument["signed"] else np.zeros((count, 1), np.uint8)
    above = np.repeat(sign, argument["cell"] - width, axis=1)
    return np.packbits(np.concatenate([bits, above], axis=1), axis=1, bitorder="little").reshape(-1)


def _bits(argument: dict[str, Any], value: Any) -> int:
    """The bits of a scalar."""
    one = np.asarray(value, argument["dtype"]).reshape(1)
    mask: int = (1 << argument["width"]) - 1
    return int(_words(argument, one)[0]) & mask


def _value(result: dict[str, Any], bits: int) -> Any:
    """The scalar of some bits."""
    width = result["width"]
    if result["signed"] and bits >> width - 1:
        bits -= 1 << width
    data = (bits & (1 << result["cell"]) - 1).to_bytes(result["cell"] // 8, "little")
    return from_bytes({**result, "shape": [1]}, data)[0].item()


class _Pynq:
    """The registers and the memory of a Zynq board under PYNQ."""

    def __init__(self, image: str, described: dict[str, Any], seconds: float, device: int) -> None:
        import pynq

        self.allocate, self.seconds, self.described = pynq.allocate, seconds, described
        self.ip = getattr(pynq.Overlay(image), described["cell"])

    def run(self, scalars: list[Any], arrays: list[Any]) -> dict[str, Any]:
        """Write arguments, start, wait, and read what the design has written."""
        buffers = []
        for argument, data in arrays:
            buffer = self.allocate(shape=(len(data),), dtype=np.uint8)
            buffer[:] = np.frombuffer(data, np.uint8)
            buffer.sync_to_device()
            self._put(argument["offset"], 2, buffer.device_address)
            buffers.append((argument, buffer))
        for argument, bits in scalars:
            self._put(argument["offset"], -(-argument["width"] // 32), bits)
        self.ip.write(CONTROL, START)
        end = time.monotonic() + self.seconds
        while not self.ip.read(CONTROL) & DONE:
            if time.monotonic() > end:
                raise DesignError(f"The run has not ended after {self.seconds:g} s.")
        error = self.described["bus_error"]
        if error is not None and self.ip.read(error) & 1:
            raise DesignError("The memory answered a burst of the run with an error.")
        found = {}
        for result in self.described["results"]:
            if result["shape"] is None:
                words = range(-(-result["width"] // 32))
                parts = [self.ip.read(result["offset"] + 4 * n) << 32 * n for n in words]
                found[result["name"]] = sum(parts)
        for argument, buffer in buffers:
            if argument["stored"]:
                buffer.sync_from_device()
                found[argument["name"]] = np.array(buffer).tobytes()
            buffer.freebuffer()
        return found

    def _put(self, offset: int, words: int, value: int) -> None:
        for number in range(words):
            self.ip.write(offset + 4 * number, value >> 32 * number & 0xFFFFFFFF)


class _Xrt:
    """A kernel that XRT starts."""

    def __init__(self, image: str, described: dict[str, Any], seconds: float, device: int) -> None:
        import pyxrt

        self.xrt, self.seconds = pyxrt, seconds
        self.device = pyxrt.device(device)
        loaded = self.device.load_xclbin(image)
        self.kernel = pyxrt.kernel(self.device, loaded, described["kernel"])

    def run(self, scalars: list[Any], arrays: list[Any]) -> dict[str, Any]:
        """Set arguments, start, wait, and read what the design has written."""
        way = self.xrt.xclBOSyncDirection
        run, buffers = self.xrt.run(self.kernel), []
        for argument, data in arrays:
            group = self.kernel.group_id(argument["index"])
            buffer = self.xrt.bo(self.device, len(data), self.xrt.bo.normal, group)
            buffer.write(data, 0)
            buffer.sync(way.XCL_BO_SYNC_BO_TO_DEVICE, len(data), 0)
            run.set_arg(argument["index"], buffer)
            buffers.append((argument, buffer, len(data)))
        for argument, bits in scalars:
            run.set_arg(argument["index"], bits)
        run.start()
        state = run.wait(int(self.seconds * 1000))
        if state != self.xrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
            raise DesignError(f"The run ended as {state}.")
        found = {}
        for argument, buffer, size in buffers:
            if argument["stored"]:
                buffer.sync(way.XCL_BO_SYNC_BO_FROM_DEVICE, size, 0)
                found[argument["name"]] = np.asarray(buffer.read(size, 0)).tobytes()
        return found
