"""How much stack the running thread has: MLIR and LLVM recurse, and end the process where it runs out."""

from __future__ import annotations

import ctypes
import threading

LEAST = 512 << 10
"""Bytes that the deepest of our designs compiles in."""
_ATTRIBUTES = 512
"""Bytes that hold a ``pthread_attr_t`` on every machine."""


def refuse_small_stack() -> None:
    """Refuse to compile in a thread whose stack is too small for it.

    Raises:
        BuildError: the thread has less than ``LEAST`` bytes of stack.
    """
    if threading.current_thread() is threading.main_thread():
        return
    size = _stack_size()
    if size is not None and size < LEAST:
        from ..diagnostics import BuildError  # not with Allo, which is imported in milliseconds

        raise BuildError(
            f"This thread has a stack of {size >> 10} KiB, and compiling needs {LEAST >> 10} KiB.",
            help="call threading.stack_size(8 << 20) before the thread is made.",
        )


def _stack_size() -> int | None:
    """Bytes of this thread's stack; None where the C library does not say."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "pthread_getattr_np"):
        return None
    library.pthread_self.restype = ctypes.c_void_p
    attributes = ctypes.create_string_buffer(_ATTRIBUTES)
    if library.pthread_getattr_np(ctypes.c_void_p(library.pthread_self()), attributes):
        return None
    size = ctypes.c_size_t()
    library.pthread_attr_getstacksize(attributes, ctypes.byref(size))
    library.pthread_attr_destroy(attributes)
    return size.value
