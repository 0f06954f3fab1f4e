"""What ``s.build(target="verilog")`` returns: a design that runs on NumPy arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from allo.backend.rtl.design import HardwareDesign, ScalarPort
from allo.backend.synth import Synthesis, synthesize
from allo.dialects.boundary.arguments import Call, Parameter, Signature
from allo.dialects.boundary.arranging import arrange
from allo.dialects.boundary.stream_arrays import with_stream_arrays
from allo.dialects.copying import BuiltOnce
from allo.dialects.diagnostics import (
    AlloError,
    BoundsError,
    BuildError,
    DeadlockError,
    DependenceError,
)
from allo.dialects.options import read_call, read_options, refuse_keywords
from allo.dialects.options.groups import RTL_CALL, SYNTHESIS
from allo.dialects.reports.figures import DesignReport

from .bitstreams import ForBoard
from .boundary.project import write_project
from .boundary.storage import fill_results
from .boundary.stream_words import from_words, to_words
from .boundary.traffic import Placement, StreamModel, make_outside
from .boundary.wave import check_writable, wave_kind, write_companions
from .buses.limit import bus_limit, check_outside
from .engines.interface import BuildOptions, RunOptions, SimModel, SimResult, find_engine
from .foretelling import Foretelling
from .last_run import Measured
from .testbench.vectors import Vectors
from .testbench.write import write_testbench

_CALL = "A call of an RTLModule"
DEFAULT_MAX_CYCLES = 100_000_000


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """How a design is simulated.

    Attributes:
        simulator: ``"verilator"``, the reference, or ``"jit"``, in process and quick to build.
        max_cycles: cycles after which a run is given up; by default four times the predicted
            cycles and then some, or 10⁸ where nothing is predicted.
        memory: arrays in external memory: name to :class:`~.traffic.MemoryChannel`, or several
            to interleave over; others are ideal RAM.
        streams: what lies outside each stream port, by name.
        timeout: seconds an external tool may take.
        randomize: seed of random first contents of registers and memories, to show that the
            design does not depend on them; None for zeros.
        stalls: probability with which each channel of each bus stalls in a cycle, of a design with
            interfaces.
        board: the board that :meth:`RTLModule.bitstream` is for.
        link: how the bytes of calls come to it: ``"uart"``, or ``"fifo245"`` by an FT232H.
    """

    simulator: str = "verilator"
    max_cycles: int | None = None
    memory: Mapping[str, Placement] | None = None
    streams: Mapping[str, StreamModel] | None = None
    timeout: float = 1800.0
    randomize: int | None = None
    stalls: float = 0.0
    board: str | None = None
    link: str = "uart"

    def __post_init__(self) -> None:
        given = {option.name: getattr(self, option.name) for option in fields(self)}
        for name, value in read_options("verilog", {}, given).items():
            if name in given:
                object.__setattr__(self, name, value)


class RTLModule(BuiltOnce, ForBoard, Foretelling, Measured):
    """A kernel compiled to hardware, with the calling convention of the CPU build.

    Calling it builds a simulation model on first use (cached by content), runs one
    transaction from start to done, and returns what the CPU build would. What the design keeps
    inside (stateful variables) lives on between calls; :meth:`reset` clears it. Threads may call
    one module: there is one design, so they take turns.

    Args:
        design: the compiled design.
        signature: what a call takes and returns.
        options: how it is simulated.
        simulator: makes the dataflow simulator of the same program, which says of a deadlock what depths
            would do.

    Attributes:
        design: ports, memories, report and texts of the design.
        cycles: cycles of the last run, from start to done; None before one.
        result: everything the last run gave.
    """

    def __init__(
        self,
        design: HardwareDesign,
        signature: Signature,
        options: SimulationOptions | None = None,
        simulator: Callable[[], Any] | None = None,
    ) -> None:
        self.options = options or SimulationOptions()
        self._simulator = simulator
        self.design = design
        fills = {stream.name: stream.direction == "out" for stream in design.streams}
        self.signature = with_stream_arrays(
            signature, {n: fills.get(name, False) for n, name in enumerate(design.arguments)}
        )
        self.top_func_name = signature.top
        self.cycles: int | None = None
        self.result: SimResult | None = None
        self._outside = make_outside(
            self.options.memory,
            self.options.streams,
            [array.name for array in design.arrays],
            [stream.name for stream in design.streams],
        )
        if design.board is not None:
            check_outside(design.board, self._outside, self.signature)
        self._models: dict[tuple[str, str], SimModel] = {}
        self._ran: set[str] = set()
        self._turn = threading.RLock()

    @property
    def verilog(self) -> str:
        """SystemVerilog of the whole design."""
        return self.design.verilog

    @property
    def report(self) -> DesignReport:
        """Figures of the design; ``measured_cycles`` holds those of the last run.

        Resources, and the clock that it can reach, are estimated when one of them is first read.
        """
        self.design.estimate_later()
        return self.design.report

    def __str__(self) -> str:
        return self.verilog

    def __repr__(self) -> str:
        return f"RTLModule({self.top_func_name}, simulator={self.options.simulator!r})"

    def __call__(
        self,
        *args: Any,
        wave: str | Path | None = None,
        simulator: str | None = None,
        max_cycles: int | None = None,
        stall_seed: int = 1,
        **named: Any,
    ) -> Any:
        """Run one transaction; see ``docs/simulation.md``.

        Args:
            wave: file for a waveform, ``.vcd`` or ``.fst``; a viewer layout (``.gtkw``) and the
                source map (``.map.json``) are written beside it. Waves come from Verilator, from
                a model of its own that starts at reset.
            simulator: engine for this run only.
            max_cycles: limit for this run only.
            stall_seed: seed of random stalls of streams and memories.

        Raises:
            OptionError: an option that is unknown, or whose value is not accepted.
            BoundaryError: an argument of the wrong count, kind, shape or layout.
            DependenceError: an asserted dependence does not hold, with ``check_dependences=True``.
            BoundsError: a subscript is out of range, in a build with ``check_bounds=True``.
            SimulationError: the run did not end, or the design broke its protocol.
            ToolMissingError, ToolFailedError: Verilator or the C++ compiler.
        """
        given = {
            "wave": wave,
            "simulator": simulator,
            "max_cycles": max_cycles,
            "stall_seed": stall_seed,
        }
        chosen = read_call(RTL_CALL, given)
        call = self.signature.bind(arrange(self.signature, args, named, _CALL, tuple(given)))
        limit = chosen["max_cycles"] or self.options.max_cycles or self._default_limit()
        path = Path(chosen["wave"]) if wave is not None else None
        options = RunOptions(max_cycles=limit, wave=path, stall_seed=chosen["stall_seed"])
        engine = simulator or self.options.simulator
        fifos = any(module.fifos for module in self.design.waits.values())
        before = deepcopy(call.values) if fifos else ()
        with self._turn:
            try:
                self._run(call, options, engine)
            except DeadlockError as error:
                error.help = self._advice(before) or error.help
                raise
        return call.finish()

    def _advice(self, values: Sequence[Any]) -> str | None:
        """What depths of FIFOs would do against a deadlock that the dataflow simulator meets, too."""
        if self._simulator is None or not values:
            return None
        try:
            self._simulator()(*values)
        except DeadlockError as found:
            return found.help
        except AlloError:
            return None
        return None

    def _run(self, call: Call, options: RunOptions, engine: str) -> SimResult:
        path = options.wave
        model = self._model("verilator" if path else engine, wave_kind(path) if path else "")
        if path:
            check_writable(path)
        if self.options.randomize is not None:
            fill_results(call, self.options.randomize)
        arrays, scalars = self.inputs_of(call)
        streams = self.words_of(call)
        words = {name: words for name, (words, _, _) in streams.items()}
        self._ran.add(engine)
        try:
            self.result = model.run({**arrays, **words}, scalars, options)
        except (BoundsError, DependenceError):
            call.finish()
            raise
        for stream in self.design.streams:
            if stream.direction == "out":
                from_words(*streams[stream.name], stream)
        self.cycles = self.design.report.measured_cycles = self.result.cycles
        self._take_scalars(call, self.result)
        if path:
            write_companions(path, self.design)
        return self.result

    def reset(self) -> None:
        """Bring the design back to its initial state."""
        with self._turn:
            for model in self._models.values():
                model.reset()
            self._ran.clear()

    @property
    def has_run(self) -> bool:
        """Whether its simulator has run it since it was built or reset."""
        return self.options.simulator in self._ran

    def variant(self, **options: Any) -> RTLModule:
        """The same design with other options of the simulation (``memory=``, ``simulator=`` …).

        Example::

            for rate in (8, 16, 32):
                tried = mod.variant(memory={"W": MemoryChannel("w", rate)})

        Raises:
            OptionError: an option that is unknown, or whose value is not accepted.
        """
        refuse_keywords("variant of an RTLModule", options, [f.name for f in fields(self.options)])
        design = replace(self.design, report=copy(self.design.report))
        return RTLModule(design, self.signature, replace(self.options, **options), self._simulator)

    def build_model(self, simulator: str | None = None) -> SimModel:
        """Build the simulation model now rather than at the first call."""
        chosen = read_call(RTL_CALL, {"simulator": simulator}, "build_model")["simulator"]
        return self._model(chosen or self.options.simulator, "")

    def write_project(self, folder: str | Path, *, split: bool = False) -> Path:
        """Write Verilog, reports, source map and a run script into ``folder``, all or nothing.

        With ``split=True`` each module has a file of its own name, and ``files.f`` lists them.
        """
        chosen = read_call("build", {"project": folder}, "write_project")["project"]
        return write_project(self.design, Path(chosen), split=split)

    def write_testbench(self, *args: Any, path: str | Path = "testbench") -> Path:
        """Write a test bench in SystemVerilog with the vectors of a call: what goes in, what comes out.

        The call is run here, from reset, on copies of the arguments, which stay as they are. The test bench
        has the same words in its memories, compares every word that the design may write, and counts the
        same cycles. Memories and streams never make the design wait there.

        Example::

            folder = mod.write_testbench(A, B, path="gemm_tb")  # then: sh gemm_tb/run.sh verilator

        Args:
            args: the arguments of the call.
            path: the folder; one that Allo wrote before is replaced.

        Raises:
            BoundaryError: an argument of the wrong count, kind, shape or layout.
            BuildError: the folder holds what Allo did not write, or cannot be written; the design has the
                interfaces of a board.
            SimulationError: the run did not end, or the design broke its protocol.
        """
        folder = Path(read_call("build", {"project": path}, "write_testbench")["project"])
        if self.design.endless:
            raise BuildError(
                f"No process of {self.top_func_name} ends, and a test bench waits for the end.",
                help="let a process end after as many words as the test has.",
            )
        if self.design.board is not None:
            raise BuildError(
                f"{self.top_func_name} has the interfaces of a board, and a test bench serves memory ports.",
                help="build without configs={'interface': ...}: the design inside is the same.",
            )
        tried = self.variant(memory=None, streams=None, randomize=None)
        vectors = tried._record(tried.signature.bind([deepcopy(value) for value in args]))
        return write_testbench(self.design, vectors, folder)

    def _record(self, call: Call) -> Vectors:
        """Run a call, and keep what went in and what came out."""
        arrays, scalars = self.inputs_of(call)
        before = {name: cells.copy() for name, cells in arrays.items()}
        ways = {stream.name: stream.direction for stream in self.design.streams}
        words = {
            name: fed.copy()
            for name, (fed, _, _) in self.words_of(call).items()
            if ways[name] == "in"
        }
        limit = self.options.max_cycles or self._default_limit()
        options = RunOptions(max_cycles=limit, wave=None, stall_seed=1)
        result = self._run(call, options, self.options.simulator)
        for name, (got, _, _) in self.words_of(call).items():
            if ways[name] == "out":
                words[name] = got[: result.traffic.streams[name].words]
        return Vectors(result.cycles, scalars, result.scalars, before, arrays, words)

    def synthesize(
        self,
        *,
        device: str | None = None,
        route: bool = False,
        clock_mhz: float | None = None,
        seed: int | None = None,
        router: str = "auto",
        timeout: float = 1800.0,
        **unknown: Any,
    ) -> Synthesis:
        """Synthesise the design with Yosys; with ``route=True`` place and route it with nextpnr, too.

        What the tools answer is kept in the cache.

        Example::

            found = mod.synthesize(route=True)
            found.lut, found.dsp, found.fmax_mhz

        Args:
            device: a family of :mod:`allo.backend.devices`; None for that of the build.
            route: place and route the design, where an open tool routes the family.
            clock_mhz: the clock that routing is asked for; None for that of the build.
            seed: of nextpnr's random numbers, which move the clock reached by some per cent.
            router: ``"router1"``, ``"router2"`` for a crowded design, or ``"auto"`` by the size.
            timeout: seconds that one run of a tool may take.

        Raises:
            OptionError: an option that is unknown, or whose value is not accepted.
            BuildError: there is no open tool for the device family.
            ToolMissingError, ToolFailedError: Yosys or nextpnr.
        """
        given = {
            "device": device,
            "route": route,
            "clock_mhz": clock_mhz,
            "seed": seed,
            "router": router,
            "timeout": timeout,
        }
        refuse_keywords("synthesize", unknown, given)
        chosen = read_call(SYNTHESIS, given, "synthesize")
        return synthesize(
            self.verilog,
            self.design.top,
            chosen["device"] or self.report.device,
            clock_mhz=chosen["clock_mhz"] or self.report.clock_mhz,
            route=chosen["route"],
            seed=chosen["seed"],
            router=chosen["router"],
            timeout=chosen["timeout"],
        )

    def _model(self, simulator: str, wave: str) -> SimModel:
        key = (simulator, wave)
        with self._turn:
            if key not in self._models:
                chosen = self.options
                options = BuildOptions(
                    wave, self._outside, chosen.timeout, chosen.randomize, chosen.stalls
                )
                self._models[key] = find_engine(simulator).build(self.design, options)
            return self._models[key]

    def _default_limit(self) -> int:
        predicted = self.design.report.cycles
        if self.design.board is not None and predicted is not None:
            return bus_limit(self.design.board, predicted, self.options.stalls)
        if predicted is None or self.design.streams or self._outside.memory:
            return DEFAULT_MAX_CYCLES
        return 4 * predicted + 10_000

    def inputs_of(self, call: Call) -> tuple[dict[str, np.ndarray], dict[str, int]]:
        """Cells of every array and raw bits of every scalar input, by port name."""
        arrays: dict[str, np.ndarray] = {}
        scalars: dict[str, int] = {}
        ports = {port.name: port for port in self.design.scalars_in}
        memories = {array.name for array in self.design.arrays}
        named = [
            *zip(self.design.arguments, call.inputs, strict=True),
            *zip(self.design.results, call.outputs, strict=True),
        ]
        for name, cells in named:
            if name in memories:
                arrays[name] = cells
            elif name in ports:
                scalars[name] = _bits_of(cells, ports[name])
        missing = (memories - arrays.keys()) | (ports.keys() - scalars.keys())
        if missing:
            raise BuildError(
                f"The design's ports {', '.join(sorted(missing))} belong to no argument or "
                f"result of {self.top_func_name}."
            )
        return arrays, scalars

    def words_of(self, call: Call) -> dict[str, tuple[np.ndarray, np.ndarray, Parameter]]:
        """Words, cells and declaration of every stream argument, by port name."""
        found = {}
        streams = {stream.name: stream for stream in self.design.streams}
        named = zip(self.design.arguments, call.inputs, self.signature.arguments, strict=True)
        for name, cells, parameter in named:
            if name in streams:
                found[name] = (to_words(cells, parameter, streams[name]), cells, parameter)
        return found

    def _take_scalars(self, call: Call, result: SimResult) -> None:
        for name, cells in zip(self.design.results, call.outputs, strict=True):
            if name in result.scalars:
                mask = (1 << 8 * cells.nbytes) - 1
                raw = (result.scalars[name] & mask).to_bytes(cells.nbytes, "little")
                cells.reshape(-1).view(np.uint8)[:] = np.frombuffer(raw, np.uint8)


def _bits_of(cells: np.ndarray, port: ScalarPort) -> int:
    return int.from_bytes(cells.tobytes(), "little") & ((1 << port.width) - 1)
