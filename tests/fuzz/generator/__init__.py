"""Writes random programs: kernels, schedules and networks of processes, from a seed."""

from .make import FEATURES, make_program
from .program import Argument, Program, Step

__all__ = ["FEATURES", "Argument", "Program", "Step", "make_program"]
