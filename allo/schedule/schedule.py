"""``Schedule``: a kernel's module with the primitives that customise it."""

from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn, Self, SupportsIndex

from allo.dialects._mlir import ir
from allo.dialects.core.parse import parse_module
from allo.dialects.core.signature import callee_of, functions_of, symbol
from allo.dialects.diagnostics import (
    SURPRISES,
    AlloWarning,
    HandleTypeError,
    ScheduleError,
    UnknownHandleError,
)
from allo.dialects.internal import foreseen
from allo.dialects.options import read_call
from allo.dialects.reports.figures import DesignReport
from allo.dialects.reports.sizing import Sizing
from allo.dialects.text.shown import shown
from allo.target import BuildRequest, find_estimator, find_target, is_own

from .bands import bands_of
from .handles import LoopBand, LoopWrapper, MockBuffer
from .near import suggestion
from .primitives.arrays.buffer_at import buffer_at
from .primitives.arrays.cache import cache
from .primitives.arrays.feed import feed, is_operand
from .primitives.arrays.fifo_depths import fifo_depths
from .primitives.arrays.layout import layout
from .primitives.arrays.partition import partition
from .primitives.arrays.place import place
from .primitives.arrays.reshape import reshape
from .primitives.arrays.reuse_at import reuse_at
from .primitives.arrays.to import to
from .primitives.functions.absorb import absorb
from .primitives.functions.bind import bind
from .primitives.functions.compose import compose
from .primitives.functions.dataflow import dataflow
from .primitives.functions.equivalent import get_equivalent_variables
from .primitives.functions.inline import inline
from .primitives.functions.specialize import specialize
from .primitives.loops.accumulate import accumulate
from .primitives.loops.compute_at import compute_at
from .primitives.loops.constant_multiply import constant_multiply
from .primitives.loops.dependence import dependence
from .primitives.loops.fuse import fuse
from .primitives.loops.interleave import interleave
from .primitives.loops.parallel import parallel
from .primitives.loops.pipeline import pipeline
from .primitives.loops.rebalance import rebalance
from .primitives.loops.reorder import reorder
from .primitives.loops.skew import skew
from .primitives.loops.split import split
from .primitives.loops.unfold import unfold
from .primitives.loops.unroll import unroll
from .primitives.ranges.cut import cut
from .primitives.ranges.sink import sink
from .primitives.tables.tabulate import tabulate
from .reassociate import reassociated
from .resolve import buffers_of, find_function
from .shared import call_of_instance
from .size_fifos import sized_fifos
from .state import ScheduleState, TextKernel


class Schedule(ScheduleState):
    """A kernel under customisation; every primitive edits ``module`` in place.

    Attributes:
        context: the MLIR context that owns ``module``.
        module: the core IR; ``print(s.module)`` shows it.
        top_func_name: the kernel's name.
        func_args: function name to its arguments (name, dtype, shape).
        primitive_sequences: the applied primitives, ``(name, args, kwargs)``, for ``compose``.
        partitioned_arrays: ``"func:array"`` to its ``(dim, kind, factor)`` calls.
        ext_libs: external modules the kernels call.
        func_instances: dataflow kernels to their instances.
        inst_list: template arguments the kernel was instantiated with.
        stateful_var_map: stateful globals to (function, variable).
    """

    @classmethod
    def from_text(
        cls, text: str, top: str | None = None, context: ir.Context | None = None
    ) -> Schedule:
        """A schedule of core IR given as MLIR text; ``top`` is the last function by default.

        Raises:
            BuildError: when the text does not parse.
            ScheduleError: when it holds no function.
        """
        module = parse_module(text, context)
        names = list(functions_of(module))
        if not names:
            raise ScheduleError(
                "The module holds no function to schedule.", help="give it a func.func."
            )
        return cls(TextKernel(module.context, module, top or names[-1]))

    # --- what the kernel holds ------------------------------------------------------------

    @property
    def func_args(self) -> dict[str, list[Any]]:
        """Function name to its arguments."""
        return self.kernel.func_args

    @property
    def ext_libs(self) -> list[Any]:
        """The external C++ modules that the kernels call."""
        return self.kernel.ext_libs

    @property
    def inst_list(self) -> tuple[Any, ...]:
        """The template arguments with which the kernel was instantiated."""
        return self.kernel.template_args

    @property
    def func_instances(self) -> dict[str, list[str]]:
        """Dataflow kernel to the functions that are its instances, in order."""
        instances: dict[str, list[str]] = {}
        for name, info in self.kernel.functions.items():
            if info.pid is not None:
                instances.setdefault(info.origin, []).append(name)
        return instances

    @property
    def stateful_var_map(self) -> dict[str, tuple[str, str]]:
        """The function and the variable behind each stateful global."""
        return self.kernel.stateful

    @property
    def top_func(self) -> ir.OpView:
        """The top function, a ``func.FuncOp``: ``s.top_func.name.value`` is its name."""
        return self._top.opview

    @property
    def _top(self) -> ir.Operation:
        return find_function(self.module, self.top_func_name)

    @property
    def ip(self) -> ir.InsertionPoint:
        """The insertion point before the top function's terminator."""
        return ir.InsertionPoint.at_block_terminator(self._top.regions[0].blocks[0])

    @property
    def systolic(self) -> bool:
        """Whether the module is one function with one nest, that of a product: see ``feed``."""
        bands = bands_of(self._top)
        if len(functions_of(self.module)) != 1 or len(bands) != 1:
            return False
        return any(is_operand(bands[0], array) for array in buffers_of(self._top).values())

    def __getattr__(self, name: str) -> MockBuffer:
        if name.startswith("_") or "module" not in self.__dict__:
            raise AttributeError(name)
        buffers = buffers_of(self._top)
        if name in buffers:
            return MockBuffer(self.top_func_name, name)
        raise UnknownHandleError(
            f"The schedule of {self.top_func_name} has no buffer or attribute {name!r}.",
            help=suggestion(name, buffers, "its buffers are", _public_names()),
        )

    def __copy__(self) -> Self:
        """A schedule of its own: what is done to the one does not change the other."""
        with self.context:
            text = self.module.operation.get_asm(enable_debug_info=True)
        module = parse_module(text)
        kernel = copy.copy(self.kernel)
        kernel.context, kernel.module = module.context, module
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.context, made.kernel, made.module = module.context, kernel, module
        made.primitive_sequences = list(self.primitive_sequences)
        made.partitioned_arrays = {k: list(v) for k, v in self.partitioned_arrays.items()}
        signature = ir.Type.parse(str(self.original_signature), module.context)
        made.original_signature = ir.FunctionType(signature)
        return made

    def __deepcopy__(self, memo: object) -> Self:
        """The same as a shallow copy, which shares nothing that changes."""
        return self.__copy__()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse ``pickle``.

        Raises:
            ScheduleError: always.
        """
        raise ScheduleError(
            f"The schedule of {self.top_func_name} cannot be pickled: it belongs to this process.",
            help="customize the kernel in the process that needs it, or pass str(s.module) and "
            "Schedule.from_text.",
        )

    def __repr__(self) -> str:
        return f"Schedule({self.top_func_name}, {len(self.primitive_sequences)} primitives)"

    def _repr_html_(self) -> str:
        """What a notebook shows: the network of a region, and the loop nests with their marks."""
        from .display import schedule_html

        with self.context:
            return schedule_html(self.module, self.top_func_name)

    # --- primitives -------------------------------------------------------------------------

    split = split
    reorder = reorder
    fuse = fuse
    interleave = interleave
    accumulate = accumulate
    skew = skew
    cut = cut
    sink = sink
    unroll = unroll
    pipeline = pipeline
    constant_multiply = constant_multiply
    tabulate = tabulate
    dependence = dependence
    rebalance = rebalance
    parallel = parallel
    inline = inline
    absorb = absorb
    bind = bind
    dataflow = dataflow
    partition = partition
    place = place
    layout = layout
    buffer_at = buffer_at
    cache = cache
    feed = feed
    fifo_depths = fifo_depths
    reuse_at = reuse_at
    compute_at = compute_at
    reshape = reshape
    to = to
    specialize = specialize
    unfold = unfold
    compose = compose
    get_equivalent_variables = get_equivalent_variables

    def get_loops(
        self, func: str | ir.Operation | ir.OpView | None = None
    ) -> LoopBand[LoopBand[LoopWrapper]]:
        """The bands of a function (the top one by default), each a :class:`LoopBand`."""
        if func is None:
            name = self.top_func_name
        elif isinstance(func, str):
            name = func
        elif isinstance(func, (ir.Operation, ir.OpView)):
            name = symbol(func)
        else:
            raise HandleTypeError(
                f"get_loops takes the name of a function, not {shown(func)}.",
                help=f"the module has {', '.join(functions_of(self.module))}.",
            )
        call = None if name in functions_of(self.module) else call_of_instance(self.module, name)
        function = find_function(self.module, name if call is None else callee_of(call))
        bands: dict[str, LoopBand[LoopWrapper]] = {}
        for band in bands_of(function):
            if band.hidden:
                continue
            loops = {n: LoopWrapper(name, band.name, n, self.module) for n, _ in band.loops}
            bands[band.name] = LoopBand(loops, f"band {band.name} of function {name}")
        return LoopBand(bands, f"function {name}")

    # --- building ---------------------------------------------------------------------------

    def build(
        self,
        target: str | None = None,
        mode: str | None = None,
        project: str | None = None,
        configs: dict[str, Any] | None = None,
        wrap_io: bool = True,
        reassociate: bool = False,
        **options: Any,
    ) -> Any:
        """Hand the module to a back end; the CPU's JIT when no target is named.

        Args:
            target: a name of ``allo.target.target_names()``.
            mode: step of the target (``"csim"``, ``"csyn"`` …).
            project: folder to write.
            configs: target options.
            wrap_io: HLS: load and store arrays through burst functions.
            reassociate: make balanced trees of float sums and products; the schedule stays as it is.
            options: further options of the target.

        Raises:
            UnsupportedTargetError: no target of this name.
            OptionError: an option the target does not have, or a value it does not accept.
            BuildError: the target cannot build the module.
        """
        name = "llvm" if target is None else target
        builder = find_target(name)
        configs = self._warn_once(configs, options)
        with self.context:
            text = self.module.operation.get_asm(enable_debug_info=True)
        if read_call("build", {"reassociate": reassociate})["reassociate"]:
            text = reassociated(text)
        request = BuildRequest(
            module_text=text,
            top=self.top_func_name,
            target=name,
            mode=mode,
            project=project,
            configs=configs,
            wrap_io=wrap_io,
            ext_libs=tuple(self.ext_libs),
            options=options,
        )
        if not is_own(name):
            return builder(request)
        with foreseen(f"Building {self.top_func_name} for target {name}"):
            return builder(request)

    def _warn_once(self, configs: Any, options: dict[str, Any]) -> Any:
        """Warn of what may surprise in the program's text, and give the configs without ``warnings``.

        A keyword, which is taken out of ``options``, wins over ``configs``.
        """
        rest = dict(configs) if isinstance(configs, dict) else {}
        kinds = options.pop("warnings", rest.pop("warnings", True))
        asked = read_call("build", {"warnings": kinds})["warnings"]
        rules = list(SURPRISES) if asked is True else asked or ()
        for found in self.kernel.surprises:
            if found.rule in rules:
                warnings.warn(f"{found.place}: {found.text}", AlloWarning, stacklevel=3)
        self.kernel.surprises = []
        return rest if isinstance(configs, dict) else configs

    def size_fifos(self, loss: float = 0.0, inputs: Sequence[Any] = (), **options: Any) -> Sizing:
        """Give each FIFO the smallest depth with which the design is as fast as with FIFOs never full.

        ::

            found = s.size_fifos()   ──▶   s.fifo_depths(["pipe", …], [2, …])
            print(found)             # depths and bits before and after, cycles

        The model that foretells regions runs the design with depths until none can be smaller. So the
        cycles are those of the hardware, and this run ends. Where no values decide what passes, every run
        is this one, and no run deadlocks. The depths are applied by one ``fifo_depths``, which is recorded.

        Args:
            loss: by how much it may take longer: 0.02 for 2 %.
            inputs: what a call is given, where values decide what passes.
            options: those of the target ``verilog``: ``device``, ``clock_mhz`` …

        Raises:
            PredictionError: the cycles cannot be foretold; the message says why.
            DeadlockError: no process can go on, however deep the FIFOs are.
            ScheduleError: the loss is no number of at least 0.
        """
        return sized_fifos(self, loss, inputs, options)

    def autoschedule(self, part: str | None = None, **options: Any) -> Any:
        """A schedule that is found for this one, or for a part of it; see :func:`allo.autoschedule`.

        ::

            s = s.autoschedule("blocks.*", device="u280", max_dsp=512)

        Args:
            part: a function, or the path of a module of a model, where ``*`` stands for any characters.
            options: those of :func:`allo.autoschedule`.

        Returns:
            An ordinary schedule with ``script()`` and ``trace``; this one stays as it is.

        Raises:
            AutoscheduleError: there is no such part, nothing to schedule in it, or the limits are too small.
        """
        return importlib.import_module("allo.explore").autoschedule(self, part, **options)

    def estimate(self, *, clock: bool = True, **options: Any) -> DesignReport:
        """The report of the hardware for a device, in milliseconds: nothing is emitted or synthesised.

        It has the cycles of every loop, the resources of the whole design, its functions and loops, the
        clock that it can be expected to reach, and the longest path in lines of the source.

        Example::

            for device in allo.backend.devices.families():
                found = s.estimate(device=device, clock_mhz=100)
                print(found.cycles, found.resources, found.fmax_mhz)

        Args:
            clock: whether the clock and the longest path are estimated; without them it takes less time.
            options: those of the target ``systemverilog``: ``device``, ``clock_mhz``, ``external`` …

        Raises:
            OptionError: an option that the target does not have, or a value it does not accept.
            BuildError: the target cannot build the module.
        """
        self._warn_once(None, options)
        with self.context:
            text = self.module.operation.get_asm(enable_debug_info=True)
        request = BuildRequest(text, self.top_func_name, "systemverilog", options=options)
        with foreseen(f"Estimating {self.top_func_name}"):
            report: DesignReport = find_estimator()(request, clock=clock)
        return report


def _public_names() -> list[str]:
    """Primitives and attributes of every schedule."""
    return [name for name in dir(Schedule) if not name.startswith("_")]
