"""The C++ of every operation of the core IR: a table from its name to what prints it."""

from __future__ import annotations

from ..emitter import Handler
from . import control, float, index, integer, memory, stream

HANDLERS: dict[str, Handler] = {
    **integer.HANDLERS,
    **float.HANDLERS,
    **index.HANDLERS,
    **memory.HANDLERS,
    **control.HANDLERS,
    **stream.HANDLERS,
}
