"""The schedule finds itself: a search over schedules, bounded by a model and measured by the real report."""

from .api import FoundSchedule, autoschedule
from .budget import Progress
from .trace import Trace, Tried

__all__ = ["FoundSchedule", "Progress", "Trace", "Tried", "autoschedule"]
