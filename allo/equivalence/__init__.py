"""Whether two schedules compute the same values: symbolic execution of both, ``allo.verify``.

Both programs run on symbols: every argument element is one, loops run for their concrete bounds,
and every operation makes a shared expression. Two results are the same value when their
expressions have one normal form. Nothing is sampled, so ``True`` is a proof for all inputs.
"""

from .compare import Comparison, compare, verify

__all__ = ["Comparison", "compare", "verify"]
