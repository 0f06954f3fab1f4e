"""What a dataflow region collects while it is elaborated, and the rule of the two ends of a FIFO."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from allo.dialects.diagnostics import DataflowError, SourcePlace
from allo.frontend.affine import ScalarArg
from allo.frontend.elaborate.context import (
    Binding,
    FunctionContext,
    StateBinding,
    StreamBinding,
    StructBinding,
)
from allo.frontend.elaborate.tries import ENDS, wrong_end
from allo.frontend.kernel_module import FunctionInfo
from allo.frontend.tree import StreamRef, Var


@dataclass(slots=True)
class Use:
    """The first put or get of a FIFO by one kernel instance."""

    instance: str
    place: SourcePlace


Fifo = tuple[StreamBinding, tuple[int, ...]]


@dataclass(slots=True)
class RegionState:
    """What a region collects: its FIFOs in order of first use, and who uses each end.

    Attributes:
        path: which repetition of each ``meta_for`` around the present statement this is.
    """

    kernels: list[Kernel] = field(default_factory=list)
    fifos: dict[Fifo, StreamRef] = field(default_factory=dict)
    producers: dict[Fifo, list[Use]] = field(default_factory=dict)
    consumers: dict[Fifo, list[Use]] = field(default_factory=dict)
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel as a region declares it, and the names that it sees there.

    Attributes:
        owner: of the region, or of the part of it that the kernel stands in.
        path: which repetition of each ``meta_for`` around it this is.
    """

    node: ast.FunctionDef
    decorator: ast.Call
    owner: FunctionContext
    scopes: list[dict[str, Binding]]
    path: tuple[str, ...]


class KernelState:
    """What one kernel instance takes from its region beside its arguments."""

    def __init__(self, region: RegionState) -> None:
        self.region = region
        self.symbol = ""
        self.scalars: dict[ScalarArg, ScalarArg] = {}
        self.streams: dict[Fifo, StreamRef] = {}
        self._ends: dict[Fifo, dict[str, tuple[str, SourcePlace]]] = {}

    def captured_scalar(self, outer: ScalarArg) -> ScalarArg:
        """A scalar argument of the region, as one of the kernel."""
        found = self.scalars.get(outer)
        if found is None:
            found = self.scalars[outer] = ScalarArg(outer.name, outer.dtype, outer.place)
        return found

    def state(self, declared: StateBinding, ctx: FunctionContext) -> Var | StructBinding:
        """A stateful variable of the region, as one of the kernel; that of another kernel is the same one."""
        before = len(ctx.function.globals)
        made = declared.make(ctx)
        own = ctx.function.globals[before:]
        for var, symbol in zip(own, declared.symbols, strict=False):
            del ctx.module.stateful[var.symbol]
            var.symbol = symbol
        declared.symbols = [var.symbol for var in own]
        return made

    def stream(self, fifo: Fifo, end: str, place: SourcePlace, operation: str) -> StreamRef:
        """A FIFO of the region, as an argument of the kernel; notes which end is used.

        Raises:
            DataflowError: the kernel asks at one end, without waiting, and uses the other.
        """
        self._keep_end(fifo, end, place, operation)
        binding, index = fifo
        if fifo not in self.region.fifos:
            name = fifo_name(binding, index)
            self.region.fifos[fifo] = StreamRef(name, binding.dtype, binding.place)
        users = self.region.producers if end == "put" else self.region.consumers
        uses = users.setdefault(fifo, [])
        if all(use.instance != self.symbol for use in uses):
            uses.append(Use(self.symbol, place))
        found = self.streams.get(fifo)
        if found is None:
            outer = self.region.fifos[fifo]
            found = self.streams[fifo] = StreamRef(outer.name, outer.dtype, outer.place)
        return found

    def _keep_end(self, fifo: Fifo, end: str, place: SourcePlace, operation: str) -> None:
        ends = self._ends.setdefault(fifo, {})
        other = ends.get("get" if end == "put" else "put")
        if other is not None and (operation in ENDS or other[0] in ENDS):
            raise wrong_end(operation, other, fifo_name(*fifo), self.symbol, place)
        if end not in ends or operation in ENDS:
            ends[end] = operation, place


def fifo_name(binding: StreamBinding, index: tuple[int, ...]) -> str:
    """``pipe``, or ``fifo_0_1`` in an array of FIFOs."""
    return "_".join([binding.name, *(str(i) for i in index)])


def check_ends(state: RegionState) -> None:
    """One producer and one consumer instance for each FIFO."""
    for word, users in (("producers", state.producers), ("consumers", state.consumers)):
        for (binding, index), uses in users.items():
            if len(uses) < 2:
                continue
            first, second = uses[0], uses[1]
            verb = "puts" if word == "producers" else "gets"
            raise DataflowError(
                f"Stream {fifo_name(binding, index)} has {len(uses)} {word}: "
                f"{first.instance} and {second.instance}.",
                second.place,
                help="a FIFO has one kernel instance at each end; use an array of streams, one "
                "for each pair.",
                notes=(
                    (f"{first.instance} {verb} here", first.place),
                    ("the stream", binding.place),
                ),
            )


def settle_ports(info: FunctionInfo, state: RegionState, ports: list[StreamRef]) -> None:
    """Note at which end of each stream of its arguments a region is.

    Raises:
        DataflowError: at none, or at both.
    """
    for fifo, ref in state.fifos.items():
        if ref not in ports:
            continue
        puts, gets = state.producers.get(fifo), state.consumers.get(fifo)
        if puts and gets:
            raise DataflowError(
                f"Both ends of the stream {ref.name} are in the region {info.origin}, of which it is an "
                "argument.",
                gets[0].place,
                help=f"declare {ref.name} inside the region; the other end of an argument is outside.",
                notes=(("it is put into here", puts[0].place),),
            )
        if not puts and not gets:
            raise DataflowError(
                f"No kernel of the region {info.origin} puts into or gets from its stream {ref.name}.",
                ref.place,
                help="leave the argument out.",
            )
        info.ends[ref.name] = "put" if puts else "get"
