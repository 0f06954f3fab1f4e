"""``df.customize`` and ``df.build``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from allo.dialects.diagnostics import BuildError, DataflowError
from allo.dialects.options import checked, read_call

if TYPE_CHECKING:
    from allo.frontend.composition import Composition
    from allo.schedule.schedule import Schedule

_DEFAULT_MODE = "csim"
_DEFAULT_PROJECT = "top.prj"
_NPU_ONLY = "only supported for AIE target"


class NpuOnlyError(BuildError, AssertionError):
    """An option of the NPU target given to another one."""


@checked("df.customize")
def customize(
    func: Callable[..., Any] | Composition,
    enable_tensor: bool = False,
    opt_default: bool = False,
    *,
    instantiate: Sequence[Any] | None = None,
    global_vars: dict[str, Any] | None = None,
    share: bool | None = None,
) -> Schedule:
    """Compile a region to core IR and return its Schedule.

    Args:
        func: a function decorated with ``@df.region()``, or a :class:`Composition` of parts.
        enable_tensor: accepted; arrays are memrefs.
        opt_default: pipeline every innermost loop, with rewind.
        instantiate: template arguments of the region.
        global_vars: the names it may refer to, in place of automatic capture.
        share: let kernel instances that differ only in constants of their subscripts be one
            function; None: only where a kernel has more than 16 instances.

    Raises:
        DataflowError: when ``func`` is not a region, or its kernels and streams do not fit.
    """
    from allo.frontend import build_module
    from allo.schedule.schedule import Schedule

    if not getattr(func, "__allo_region__", False):
        name = getattr(func, "__name__", repr(func))
        if hasattr(func, "__allo_kernel__"):
            raise _kernel_alone(name, func)
        raise DataflowError(
            f"{name} is not a dataflow region.",
            help="decorate it with @df.region(), or use allo.customize for a kernel.",
        )
    made = build_module(func, instantiate=instantiate, global_vars=global_vars, share=share)
    schedule = Schedule(made)
    if opt_default:
        df_primitive_default(schedule)
    return schedule


def _kernel_alone(name: str, func: Any) -> DataflowError:
    arrays = [argument for argument in getattr(func, "__annotations__", {}) if argument != "return"]
    mapping = func.__allo_kernel__[0]
    return DataflowError(
        f"{name} is a df.kernel by itself, as in an older interface.",
        help="write a region around it: @df.region() above def "
        f"top({', '.join(f'{array}: …' for array in arrays)}), and inside it "
        f"@df.kernel(mapping={mapping}, args=[{', '.join(arrays)}]) above def {name}.",
    )


def df_primitive_default(schedule: Schedule) -> None:
    """Pipeline every innermost loop of a region's kernels, with rewind: what ``opt_default=True`` does."""
    for name, info in schedule.kernel.functions.items():
        if info.is_region:
            continue
        for _, band in schedule.get_loops(name):
            wrappers = [wrapper for _, wrapper in band]
            if wrappers:
                schedule.pipeline(wrappers[-1], rewind=True)


@checked("df.build")
def build(
    func: Callable[..., Any] | Composition,
    target: str = "vitis_hls",
    mode: str | None = _DEFAULT_MODE,
    project: str | None = None,
    configs: dict[str, Any] | None = None,
    wrap_io: bool = True,
    enable_tensor: bool = False,
    mapping_primitives: Sequence[Any] | None = None,
    profile: bool = False,
    warmup: int = 20,
    num_iters: int = 100,
    trace: Any = None,
    trace_size: int = 4096,
    device_type: str | None = None,
    *,
    share: bool | None = None,
    **options: Any,
) -> Any:
    """Compile a region and build it for a target.

    Args:
        func: a function decorated with ``@df.region()``, or a :class:`Composition` of parts.
        target: ``"simulator"``, ``"vitis_hls"`` (default), ``"vhls"``, ``"verilog"`` …
        mode: the step to run (``"csim"``, ``"csyn"`` …), for targets that have several; None for
            the text alone.
        project: folder to write; ``~`` is expanded. Default: ``top.prj`` for a mode of an HLS
            target, but for csim of ``vhls``, which needs no folder.
        configs: target options.
        wrap_io: HLS: load and store functions around the top.
        share: as for :func:`customize`.
        options: further options of the target.

    Raises:
        OptionError: an option that is unknown, or whose value is not accepted.
    """
    del enable_tensor, warmup, num_iters, trace_size, device_type
    if profile and target != "aie":
        raise NpuOnlyError(f"Profiling is {_NPU_ONLY}.", help="leave profile out.")
    if trace and target != "aie":
        raise NpuOnlyError(f"Trace profiling is {_NPU_ONLY}.", help="leave trace out.")
    if mapping_primitives and target != "aie":
        raise NpuOnlyError(f"mapping_primitives are {_NPU_ONLY}.", help="leave them out.")
    if target not in _WITH_PROJECT and project == _DEFAULT_PROJECT:
        project = None
    if mode is not None and target in _WITH_PROJECT and (target != "vhls" or mode != _DEFAULT_MODE):
        project = _DEFAULT_PROJECT if project is None else project
    elif mode == _DEFAULT_MODE and (target not in _WITH_PROJECT or project is None):
        mode = None
    path = read_call("build", {"project": project}, "df.build")["project"]
    return customize(func, share=share).build(
        target=target,
        mode=mode,
        project=None if path is None else os.path.abspath(path),
        configs=configs,
        wrap_io=wrap_io,
        **options,
    )


# Targets with projects: a mode writes one, named or not. Without a mode there is the text alone,
# and so there is for vhls where neither a project nor another mode than the default is given.
_WITH_PROJECT = ("vhls", "vitis_hls", "vivado_hls", "tapa", "catapult", "pynq")
