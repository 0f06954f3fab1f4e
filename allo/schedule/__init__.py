"""Schedules: a kernel's module and the primitives that customise it (see ``docs/schedule.md``)."""

from .handles import LoopBand, LoopWrapper, MockBuffer
from .schedule import Schedule

__all__ = ["LoopBand", "LoopWrapper", "MockBuffer", "Schedule"]
