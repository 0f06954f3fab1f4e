"""``allo.sweep``: one function at many points, through any executor of ``concurrent.futures``."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from dataclasses import dataclass
from typing import Any

from .api import FoundSchedule
from .trace import Trace

TRIES = 3
"""How often a point is given to a worker, where workers die."""


@dataclass(frozen=True, slots=True)
class Found:
    """What of a found schedule passes between processes.

    Attributes:
        script: the Python that makes it.
        trace: the account of the search.
    """

    script: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a sweep.

    Attributes:
        point: what the function was called with.
        result: what it returned; of a found schedule a :class:`Found`; None where it failed.
        error: what it raised, or None.
        seconds: the time that it took in its worker.
        tries: how often it was given to a worker.
    """

    point: Any
    result: Any = None
    error: BaseException | None = None
    seconds: float = 0.0
    tries: int = 1


def sweep(
    function: Callable[..., Any], points: Iterable[Any], executor: Executor | None = None
) -> list[Point]:
    """Call a function at many points, at the same time.

    A point that is a dictionary gives keyword arguments, a tuple arguments, and anything else one argument.
    What a point raises is kept with it, and the others go on. Where a worker dies, its points are given
    to another one.

    Example::

        from functools import partial
        budgets = [{"max_dsp": n} for n in (220, 2560, 9024)]
        for at in allo.sweep(partial(allo.autoschedule, gemm), budgets):
            print(at.point, at.result.trace.cycles)

    Args:
        function: of a module, where workers are processes.
        points: what to call it with.
        executor: any executor of ``concurrent.futures``, such as that of a cluster; by default processes
            of this machine.

    Returns:
        The points in the order in which they were given.
    """
    asked = list(points)
    found: dict[int, Point] = {}
    for attempt in range(1, TRIES + 1):
        left = [n for n in range(len(asked)) if n not in found]
        if not left:
            break
        if executor is None:
            context = multiprocessing.get_context("spawn")
            workers = min(len(left), os.cpu_count() or 1)
            with ProcessPoolExecutor(workers, mp_context=context) as pool:
                _pass(pool, function, asked, left, attempt, found)
        else:
            _pass(executor, function, asked, left, attempt, found)
    return [found[n] for n in range(len(asked))]


def _pass(
    pool: Executor,
    function: Callable[..., Any],
    asked: list[Any],
    left: list[int],
    attempt: int,
    found: dict[int, Point],
) -> None:
    """Give all points that are left to a pool once; those whose worker died stay left."""
    futures: dict[Future[Any], int] = {}
    for number in left:
        try:
            futures[pool.submit(_call, function, asked[number])] = number
        except BrokenExecutor as error:
            _died(asked[number], error, attempt, number, found)
    for future in as_completed(futures):
        number = futures[future]
        try:
            result, error, seconds = future.result()
            found[number] = Point(asked[number], result, error, seconds, attempt)
        except (BrokenExecutor, CancelledError, OSError) as error:
            _died(asked[number], error, attempt, number, found)
        except Exception as error:
            found[number] = Point(asked[number], None, error, 0.0, attempt)


def _died(
    point: Any, error: BaseException, attempt: int, number: int, found: dict[int, Point]
) -> None:
    if attempt == TRIES:
        found[number] = Point(point, None, error, 0.0, attempt)


def _call(function: Callable[..., Any], point: Any) -> tuple[Any, Exception | None, float]:
    """In the worker: the result or what was raised, and the seconds."""
    began = time.monotonic()
    try:
        if isinstance(point, dict):
            result = function(**point)
        elif isinstance(point, tuple):
            result = function(*point)
        else:
            result = function(point)
    except Exception as error:
        return None, error, time.monotonic() - began
    if isinstance(result, FoundSchedule):
        result = Found(result.script(), result.trace)
    return result, None, time.monotonic() - began
