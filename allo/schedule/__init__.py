"""Schedules: a kernel's module and the primitives that customise it (see ``docs/schedule.md``)."""

from .handles import (
    Axis,
    BandName,
    Buffer,
    Consumer,
    FunctionName,
    LoopBand,
    LoopWrapper,
    MockBuffer,
    Setting,
)
from .register import register_primitive
from .schedule import Schedule
from .state import ScheduleState

__all__ = [
    "Axis",
    "BandName",
    "Buffer",
    "Consumer",
    "FunctionName",
    "LoopBand",
    "LoopWrapper",
    "MockBuffer",
    "Schedule",
    "ScheduleState",
    "Setting",
    "register_primitive",
]
