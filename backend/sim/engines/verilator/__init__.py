"""The reference engine: Verilator, by the fast recipe (no make, one shared library)."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.interfaces.board import Board
from allo.backend.sim.driver.ports import PortMap, top_ports
from allo.backend.sim.driver.transaction import DriverEmitter
from allo.backend.sim.driver.wires import Evaluation
from allo.dialects.processes.shared_library import load_shared

from ..interface import BuildOptions
from ..model import DrivenModel, Evaluated
from ..native import NativeModule
from .compile import compile_model


def container(width: int) -> int:
    """Bits of the C++ type Verilator keeps a signal of ``width`` bits in."""
    if width > 64:
        return -(-width // 32) * 32
    return max(8, 1 << (width - 1).bit_length())


class VerilatorEngine:
    """Simulate the emitted Verilog with Verilator."""

    name = "verilator"

    def build(self, design: HardwareDesign, options: BuildOptions) -> DrivenModel:
        """Verilate the design, compile it, and load it with its driver; models are cached.

        Raises:
            ToolMissingError: there is no Verilator or no C++ compiler.
            ToolFailedError: one of them fails.
        """
        library = _Library(compile_model(design, options), options.wave)
        instance = library.instance(design, options.randomize)
        ports = PortMap(
            offsets=instance.offsets,
            widths={port.name: port.width for port in top_ports(design)},
            container=container,
        )
        if design.board is not None:
            return _under_buses(design, design.board, options, ports, instance.evaluated)
        text = DriverEmitter(design, options.outside, ports, Evaluation()).emit()
        return DrivenModel(
            design, options.outside, text, NativeModule(text.text), instance.evaluated
        )


def _under_buses(
    design: HardwareDesign, board: Board, options: BuildOptions, ports: PortMap, made: Evaluated
) -> DrivenModel:
    """A wrapped design under the models of its buses."""
    from allo.backend.sim.buses.model import BusModel, Clocking

    clocking = Clocking(made.eval, made.eval, made.eval, made.handle, packed=False)
    return BusModel(design, board, options, ports, made, clocking, None)


def _hierarchical(design: HardwareDesign, path: str) -> str:
    """Verilator's name of a signal of the compiled design."""
    inside = ".shell.core" if design.board is not None else ""
    return f"TOP.{design.top}{inside}.{path.replace('/', '.')}"


@dataclass(frozen=True, slots=True)
class _Instance:
    offsets: dict[str, int]
    evaluated: Evaluated


class _Library:
    """A compiled model loaded into the process."""

    def __init__(self, path: Path, wave: str) -> None:
        self._library = load_shared(path)
        self._library.allo_new.restype = ctypes.c_void_p
        self._library.allo_state.restype = ctypes.c_void_p
        self._library.allo_signal.restype = ctypes.c_uint64
        self._wave = wave

    def instance(self, design: HardwareDesign, seed: int | None) -> _Instance:
        """A new model of the library; ``seed`` randomises its first contents, None makes them zero."""
        handle = self._library.allo_new(0 if seed is None else 1 + seed % (1 << 30))
        names = [port.name for port in top_ports(design)]
        addresses = (ctypes.c_void_p * len(names))()
        self._library.allo_ports(ctypes.c_void_p(handle), addresses)
        state = self._state(handle)
        values = [int(address or 0) for address in addresses]
        base = min(values)
        evaluated = Evaluated(
            base=base,
            eval=ctypes.cast(self._library.allo_eval, ctypes.c_void_p).value or 0,
            handle=handle,
            close=lambda: self._library.allo_delete(ctypes.c_void_p(handle)),
            peek=dict,
            state=[state],
            whole=[state],
            signal=lambda path: self._signal(handle, _hierarchical(design, path)),
            begin_wave=(lambda file: self._begin_wave(handle, file)) if self._wave else None,
            end_wave=(lambda: self._end_wave(handle)) if self._wave else None,
        )
        offsets = {name: value - base for name, value in zip(names, values, strict=True)}
        return _Instance(offsets, evaluated)

    def _state(self, handle: int) -> np.ndarray:
        """All that the model keeps from one evaluation to the next."""
        size = ctypes.c_size_t()
        at = self._library.allo_state(ctypes.c_void_p(handle), ctypes.byref(size))
        return np.frombuffer((ctypes.c_uint8 * size.value).from_address(at), np.uint8)

    def _signal(self, handle: int, path: str) -> int:
        scope, _, name = path.rpartition(".")
        found: int = self._library.allo_signal(
            ctypes.c_void_p(handle), scope.encode(), name.encode()
        )
        return found

    def _begin_wave(self, handle: int, file: str) -> None:
        self._library.allo_begin_wave(ctypes.c_void_p(handle), os.fsencode(file))

    def _end_wave(self, handle: int) -> None:
        self._library.allo_end_wave(ctypes.c_void_p(handle))
