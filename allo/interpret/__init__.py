"""What a kernel means, from its source text: an interpreter that shares nothing with the compiler.

It is written from docs/language.md and docs/internals/core_ir.md. A function is translated once to Python
text in which every operation is exact integer arithmetic, or one rounding to a float format; the
text runs at the speed of Python. ``docs/interpret.md`` is its page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .interpreter import Interpreted

__all__ = ["MAX_STEPS", "interpret"]

MAX_STEPS = 100_000_000
"""Loop iterations allowed in one call, unless the user says otherwise."""


def interpret(
    kernel: Callable[..., Any] | str,
    instantiate: Sequence[Any] | None = None,
    global_vars: Mapping[str, Any] | None = None,
    *,
    max_steps: int | None = MAX_STEPS,
) -> Interpreted:
    """Read a kernel and give a callable that does what its source means.

    Args:
        kernel: a function or a dataflow region, or the text of one (with ``global_vars``).
        instantiate: arguments of the template ``def f[T, M](…)``, in order.
        global_vars: the names the kernel may refer to, in place of automatic capture.
        max_steps: loop iterations allowed in one call; None for no limit.

    Raises:
        FrontendError: when the source is no kernel; the message shows the place.
    """
    from .interpreter import translate  # NumPy is loaded only where it is needed

    return translate(kernel, instantiate, global_vars, max_steps)
