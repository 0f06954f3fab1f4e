"""The schedule finds itself: a search over schedules, bounded by a model and measured by the real report."""

from .api import FoundSchedule, autoschedule
from .budget import Progress
from .sweep import Found, Point, sweep
from .trace import Trace, Tried

__all__ = ["Found", "FoundSchedule", "Point", "Progress", "Trace", "Tried", "autoschedule", "sweep"]
