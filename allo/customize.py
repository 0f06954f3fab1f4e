"""``allo.customize``: compile a Python function to core IR and wrap it in a Schedule."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from allo.dialects.options import checked

if TYPE_CHECKING:
    from allo.dialects.core.partition import Partition
    from allo.schedule.schedule import Schedule

__all__ = ["Partition", "Schedule", "customize"]


@checked("customize")
def customize(
    fn: Callable[..., Any] | str,
    verbose: bool = False,
    enable_tensor: bool = False,
    lower_linalg: bool = False,
    global_vars: Mapping[str, Any] | None = None,
    instantiate: Sequence[Any] | None = None,
    context: Any = None,
    typing_rule_set: str = "default",
    unroll: bool = True,
) -> Schedule:
    """Compile ``fn``, which is read and never run, and return its Schedule.

    Args:
        fn: a Python function, or a source text (then ``global_vars`` gives every name it uses).
        verbose: print the core IR once built.
        enable_tensor: accepted for programs that ask for value semantics; arrays are memrefs.
        lower_linalg: accepted; whole-array operations are always lowered to loops.
        global_vars: the names ``fn`` may refer to, in place of automatic capture.
        instantiate: arguments of the template ``def fn[T, M](…)``, in order.
        context: an MLIR context to reuse.
        typing_rule_set: ``"default"`` (widths grow) or ``"cpp-style"``.
        unroll: dataflow: False lets all instances of a kernel share functions; True only those of
            kernels with more than 16 instances.

    Raises:
        OptionError: an option that is unknown, or whose value is not accepted.
        FrontendError: when ``fn`` is not a kernel; the message shows the place.
        BuildError: the thread's stack is too small to compile in.
    """
    from allo.dialects.processes.stack import refuse_small_stack

    refuse_small_stack()
    from allo.frontend import build_module
    from allo.schedule.schedule import Schedule

    kernel_module = build_module(
        fn,
        global_vars=global_vars,
        instantiate=instantiate,
        context=context,
        typing_rules=typing_rule_set,
        share=None if unroll else True,
    )
    if verbose:
        sys.stdout.write(f"{kernel_module.module}\n")
    return Schedule(kernel_module)


def __getattr__(name: str) -> Any:
    if name == "Partition":
        from allo.dialects.core.partition import Partition

        return Partition
    if name == "Schedule":
        from allo.schedule.schedule import Schedule

        return Schedule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
