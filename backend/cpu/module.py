"""What ``s.build()`` returns for the CPU: a compiled module, called on NumPy arrays."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.boundary.arguments import Parameter, Signature, read_signature
from allo.dialects.boundary.arranging import arrange
from allo.dialects.boundary.stream_arrays import filled_streams, with_stream_arrays
from allo.dialects.copying import BuiltOnce
from allo.dialects.core.parse import parse_module, text_of
from allo.dialects.diagnostics import BoundsError
from allo.dialects.options import read_call
from allo.dialects.passes.flush_subnormals import FLUSH
from allo.dialects.passes.run_time_checks import Checks

from .calling import DirectArguments, EntryLayout, Frame
from .duration import is_quick
from .external import link_externals
from .jit import Jit
from .lowering.bf16_bits import BF16
from .lowering.llvm import prepare, to_llvm
from .native.events import handle_event
from .native.interrupt import Guarded
from .native.runtime import load_runtime
from .ports import Port, connect


class LLVMModule(BuiltOnce):
    """A kernel compiled for this machine.

    Threads may call one module at once; where it has stateful variables they take turns.

    Args:
        mod: core IR, as text or as a module (which is not changed).
        top_func_name: the function to call.
        ext_libs: external C++ modules the kernels call.
        fast_math: let ``math`` functions use the C library: faster, not bit-equal to hardware.
        opt_level: LLVM's -O level.
        check_bounds: check every subscript that may be out of range.
        check_dependences: check every dependence that the schedule asserts.
        subnormals: ``"keep"``, or ``"flush"`` to compute as with floats that have none.

    Attributes:
        signature: what a call takes and returns.
        words: how many words each stream argument passed in the last call.
        in_types, out_types: (declared type name, shape) of each argument and result.
        intermediate_module: the core IR before lowering to LLVM.
        module: the LLVM dialect.
        execution_engine: MLIR's engine.

    Raises:
        BuildError: when the module cannot be compiled.
    """

    def __init__(
        self,
        mod: ir.Module | str,
        top_func_name: str,
        ext_libs: tuple[Any, ...] | list[Any] | None = None,
        *,
        fast_math: bool = False,
        opt_level: int = 3,
        check_bounds: bool = False,
        check_dependences: bool = False,
        subnormals: str = "keep",
    ) -> None:
        given = {
            "fast_math": fast_math,
            "opt_level": opt_level,
            "check_bounds": check_bounds,
            "check_dependences": check_dependences,
            "subnormals": subnormals,
        }
        chosen = read_call("llvm", given, "LLVMModule")
        self.top_func_name = top_func_name
        self.ext_libs = tuple(ext_libs or ())
        source = text_of(mod)
        module = parse_module(source)
        declared = read_signature(module, top_func_name)
        self._fills = filled_streams(module, declared)
        self.signature: Signature = with_stream_arrays(declared, self._fills)
        self.words: dict[str, int] = {}
        external = link_externals(module, self.ext_libs)
        quick = not external and is_quick(module, top_func_name)
        self._program = prepare(
            module,
            top_func_name,
            fast_math=chosen["fast_math"],
            checks=Checks(chosen["check_bounds"], chosen["check_dependences"]),
            flush=chosen["subnormals"] == FLUSH,
        )
        self._intermediate = text_of(module)
        to_llvm(module, top_func_name, bf16=BF16 in source, streams=self._program is not None)
        self.module = module
        self._turn = threading.Lock() if _keeps_state(module) else None
        self._runtime = load_runtime() if self._program else None
        symbols = {**external, **(self._runtime.symbols if self._runtime else {})}
        self._jit = Jit(module, chosen["opt_level"], symbols)
        leave = (self._jit.entry_address, *external.values())
        self._guarded = Guarded(() if quick and self._program is None else leave)
        plain = not self._guarded.is_needed and self._program is None and self._turn is None
        self._at_once = self._guarded.plain(self._jit.entry_address) if plain else None
        self._layout = EntryLayout(declared)
        self._returns = bool(self.signature.results)
        self._direct = DirectArguments(self.signature, self._layout)

    @property
    def intermediate_module(self) -> ir.Module:
        """The core IR from which the module was lowered, parsed anew."""
        return ir.Module.parse(self._intermediate, self.module.context)

    @property
    def execution_engine(self) -> Any:
        """MLIR's execution engine, which holds the machine code."""
        return self._jit.engine

    @property
    def in_types(self) -> list[tuple[str, tuple[int | None, ...]]]:
        """The declared type and the shape of each argument."""
        return [_type_of(p) for p in self.signature.arguments]

    @property
    def out_types(self) -> list[tuple[str, tuple[int | None, ...]]]:
        """The declared type and the shape of each result."""
        return [_type_of(p) for p in self.signature.results]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the kernel on NumPy arrays and scalars, by position or name; see ``docs/cpu.md``.

        Raises:
            BoundaryError: when an argument has the wrong count, kind, shape, layout or values.
            DeadlockError: when the processes of a dataflow region wait for each other.
            SimulationError: when an assertion of the kernel does not hold.
            KeyboardInterrupt: Ctrl-C, in the main thread; what the kernel had written stays written.
            DependenceError: an asserted dependence does not hold, with ``check_dependences=True``.
            BoundsError: a subscript is out of range, in a build with ``check_bounds=True``; what
                was written before is in the arrays.
        """
        frame = None if named or self._fills else self._direct.pack(args)
        if frame is not None:
            if not self._returns:
                self._run(frame)
                return None
            outputs = self._direct.outputs(frame)
            self._run(frame)
            return outputs[0] if len(outputs) == 1 else outputs
        call = self.signature.bind(arrange(self.signature, args, named, "A call of an LLVMModule"))
        cells = list(call.inputs)
        streams = self._program.ports if self._program else {}
        ports = connect(self.signature.arguments, cells, self._fills, streams)
        try:
            self._run(self._layout.pack(cells, call.outputs), ports)
        except BoundsError:
            call.finish()
            raise
        self.words = {port.name: port.passed for port in ports}
        return call.finish()

    def _run(self, frame: Frame, ports: Sequence[Port] = ()) -> None:
        if self._at_once is not None:
            self._at_once(frame.address)
        elif self._turn is None:
            self._enter(frame.address, ports)
        else:
            with self._turn:
                self._enter(frame.address, ports)
        self._layout.give_back(frame)

    def _enter(self, address: int, ports: Sequence[Port]) -> None:
        program = self._program
        if self._runtime is None or program is None:
            self._guarded.call(self._jit.entry_address, address)
            return
        self._runtime.run(
            self._jit.entry_address,
            address,
            self._guarded,
            lambda number, data: handle_event(program.events[number], data),
            lambda records, grown: program.network(
                {port.name: port.told for port in ports}
            ).deadlock(records, grown()),
            [(port.address, port.fills) for port in ports],
        )

    def __repr__(self) -> str:
        return f"LLVMModule({self.top_func_name})"


def _keeps_state(module: ir.Module) -> bool:
    """Whether calls share memory: stateful variables live in globals that are no constants."""
    return any(
        op.operation.name == "llvm.mlir.global" and "constant" not in op.attributes
        for op in module.body.operations
    )


def _type_of(parameter: Parameter) -> tuple[str, tuple[int | None, ...]]:
    return parameter.dtype.name, parameter.shape or ()
