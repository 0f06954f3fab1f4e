"""The in-process engine: CIRCT's arc through MLIR's JIT, without a C++ compiler.

It runs the design with float units as native operations where the design has that
text, and the design as it is otherwise; cycles and bits equal Verilator's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.interfaces.board import Board
from allo.backend.rtl.waiting import PROBED, PROBING
from allo.backend.sim.driver.llvm_text import FunctionText
from allo.backend.sim.driver.ports import PortMap, top_ports
from allo.backend.sim.driver.transaction import DriverEmitter
from allo.backend.sim.driver.wires import Evaluation
from allo.dialects.diagnostics import SimulationError

from ..interface import BuildOptions
from ..model import DrivenModel, Evaluated
from ..native import NativeModule
from .lowered import lower_design
from .model import ArcModel

# Above this many lines, the functions of a model that is whole take LLVM's optimiser longer than
# most runs. Those of one that was split are short, and LLVM takes longer for them without it.
OPTIMISE_LINES = 100_000
ALIGNMENT = 64
# Bytes of a memory that is left out where states are compared.
LARGE_MEMORY = 1024


def container(width: int) -> int:
    """Bits of memory arc's code loads and stores for a signal."""
    return -(-width // 8) * 8


class ArcEngine:
    """Simulate the design's hw text in process."""

    name = "jit"

    def build(self, design: HardwareDesign, options: BuildOptions) -> DrivenModel:
        """Lower the design and compile it with its driver in one module.

        Raises:
            SimulationError: a waveform is asked for, which this engine does not write.
            BuildError: CIRCT or LLVM fails, or takes longer than ``options.timeout`` seconds.
        """
        if options.wave:
            raise SimulationError(
                'simulator="jit" writes no waveforms.',
                help='use simulator="verilator" with wave=: its cycles and values are the same.',
            )
        model = lower_design(design, options.timeout)
        ports = PortMap(
            offsets=model.ports,
            widths={port.name: port.width for port in top_ports(design)},
            container=container,
            aliases=model.aliases,
        )
        if design.board is not None:
            return self._under_buses(design, design.board, options, model, ports)
        split = model.edge != model.settle
        reset = f"{design.top}_reset" if split else model.edge
        evaluation = Evaluation(model.settle, model.edge, reset)
        driver = DriverEmitter(design, options.outside, ports, evaluation).emit()
        texts = [model.text, driver.text]
        if split:
            texts.append(_reset_function(reset, model.resets))
        text = "\n".join(texts)
        level = 1 if split or text.count("\n") < OPTIMISE_LINES else 0
        native = NativeModule(text, level)
        return DrivenModel(
            design,
            options.outside,
            driver,
            native,
            _Instance(model, native, _probes(design)).evaluated(options.randomize),
        )

    def _under_buses(
        self,
        design: HardwareDesign,
        board: Board,
        options: BuildOptions,
        model: ArcModel,
        ports: PortMap,
    ) -> DrivenModel:
        """A wrapped design under the models of its buses."""
        from allo.backend.sim.buses.model import BusModel, Clocking

        split = model.edge != model.settle
        level = 1 if split or model.text.count("\n") < OPTIMISE_LINES else 0
        native = NativeModule(model.text, level)
        made = _Instance(model, native, _probes(design)).evaluated(options.randomize)
        settle, edge = native.address(model.settle), native.address(model.edge)
        clocking = Clocking(settle, edge, edge, made.base, packed=True)
        return BusModel(design, board, options, ports, made, clocking, native)


def _probes(design: HardwareDesign) -> frozenset[str]:
    """Registers that only the text for this engine has."""
    return frozenset({PROBED, *(w.signal for m in design.waits.values() for w in m.waits)})


def _reset_function(name: str, resets: list[tuple[int, int, int]]) -> str:
    """A function of the state that does what a clock edge does during reset."""
    function = FunctionText(name, [("state", "!llvm.ptr")])
    for offset, bits, value in resets:
        function.store(function.constant(value, bits), function.offset("%state", offset), bits)
    function.finish()
    return function.text()


@dataclass(slots=True)
class _Instance:
    """The state of one instance, in NumPy memory."""

    model: ArcModel
    native: NativeModule
    probes: frozenset[str]

    def evaluated(self, seed: int | None) -> Evaluated:
        """An initialised state and how to evaluate it; ``seed`` randomises the state first."""
        memory = np.zeros(self.model.size + ALIGNMENT, dtype=np.uint8)
        skip = -memory.ctypes.data % ALIGNMENT
        state = memory[skip : skip + self.model.size]
        if seed is not None:
            self._randomize(state, np.random.default_rng(seed))
        if self.model.initial:
            self.native.function(self.model.initial)(state.ctypes.data)
        return Evaluated(
            base=state.ctypes.data,
            eval=0,
            handle=0,
            close=lambda: None,
            peek=lambda: {
                name: value
                for name, value in self.model.registers_of(state).items()
                if name.rsplit("/", 1)[-1] not in self.probes
            },
            state=_without_memories(state, self.model.memories),
            whole=[state],
            probe=lambda on: self._probe(state, on=on),
            signal=lambda path: self.model.registers_of(state, path).get(path, 0),
        )

    def _probe(self, state: np.ndarray, *, on: bool) -> None:
        """Drive the input at which probes look."""
        at = self.model.ports.get(PROBING)
        if at is not None:
            state[at] = on

    def _randomize(self, state: np.ndarray, rng: np.random.Generator) -> None:
        """Fill registers and memories with random values of their widths."""
        for at, bits in self.model.registers.values():
            _put_random(state, at, bits, rng)
        for offset, words, bits, stride in self.model.memories:
            for word in range(words):
                _put_random(state, 8 * (offset + word * stride), bits, rng)


def _without_memories(
    state: np.ndarray, memories: list[tuple[int, int, int, int]]
) -> list[np.ndarray]:
    """The parts of the state that lie outside its large memories."""
    parts, start = [], 0
    for offset, words, _, stride in sorted(memories):
        if words * stride >= LARGE_MEMORY:
            parts.append(state[start:offset])
            start = offset + words * stride
    return [part for part in (*parts, state[start:]) if len(part)]


def _put_random(state: np.ndarray, at: int, bits: int, rng: np.random.Generator) -> None:
    """Fill the bits from a place in the state on with random ones."""
    value = int.from_bytes(rng.bytes(-(-bits // 8)), "little") & ((1 << bits) - 1)
    cells = state[at // 8 : -(-(at + bits) // 8)]
    others = int.from_bytes(cells.tobytes(), "little") & ~(((1 << bits) - 1) << at % 8)
    value = others | value << at % 8
    cells[:] = np.frombuffer(value.to_bytes(len(cells), "little"), np.uint8)
