"""What every primitive shares: known parameters, a transaction, a record for ``compose``."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Concatenate, cast

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import AlloError, ScheduleError, SourcePlace
from allo.dialects.internal import foreseen
from allo.dialects.text.near import did_you_mean
from allo.dialects.verify import verify

from .assertions import kept_assertions
from .parameters import check_parameters
from .shared import is_done, own_function, shared_instances
from .state import ScheduleState


def primitive[**P, R](
    function: Callable[Concatenate[ScheduleState, P], R],
) -> Callable[Concatenate[ScheduleState, P], R]:
    """Make a function a schedule primitive: atomic, and recorded when it succeeds.

    Where the environment has ``ALLO_VERIFY`` set, as in the tests, the module is held against the
    rules of ``docs/internals/core_ir.md`` after each call.

    Raises:
        PrimitiveError: the function's parameters are not of kinds that ``compose`` knows.
    """
    check_parameters(function)
    signature = inspect.signature(function)
    returns_nothing = signature.return_annotation in (None, "None")

    @functools.wraps(function)
    def run(s: ScheduleState, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            signature.bind(s, *args, **kwargs)
        except TypeError as error:
            raise _misfit(function.__name__, signature, kwargs, error) from None
        name = function.__name__
        shared = shared_instances(s, args, kwargs)
        if shared and returns_nothing and is_done(s, name, args, kwargs, shared):
            return cast("R", None)
        try:
            with foreseen(f"The primitive {function.__name__}"), transaction(s):
                for instance in shared:
                    own_function(s, instance)
                with kept_assertions(s, function.__name__):
                    result = function(s, *args, **kwargs)
                if os.environ.get("ALLO_VERIFY"):
                    verify(s.module, top=s.top_func_name)
                s.check_step(function.__name__, args, kwargs)
        except AlloError as error:
            # The user's line is the last of the traceback but this one; a cause keeps its own.
            raise error.with_traceback(None) from error.__cause__
        s.primitive_sequences.append((function.__name__, list(args), dict(kwargs)))
        return result

    return run


def unrecorded(s: ScheduleState, name: str) -> Callable[..., Any]:
    """The primitive of this name without its transaction and its record, for use within another."""
    run: Callable[..., Any] = getattr(type(s), name)
    return getattr(run, "__wrapped__", run)


def _misfit(
    name: str, signature: inspect.Signature, given: Mapping[str, Any], error: TypeError
) -> ScheduleError:
    """A primitive called with arguments it does not take."""
    names = list(signature.parameters)[1:]
    unknown = next((key for key in given if key not in names), None)
    hint = did_you_mean(unknown, names) if unknown else ""
    return ScheduleError(
        f"{name} cannot be called so: {error}.", help=f"{hint}it takes {', '.join(names)}."
    )


@contextmanager
def transaction(s: ScheduleState) -> Iterator[None]:
    """Edit the module; on any exception it is put back exactly as it was."""
    with s.context, ir.Location.unknown():
        backup = s.module.operation.clone()
        partitions, functions = dict(s.partitioned_arrays), s.kernel.functions
        try:
            yield
        except BaseException:
            if _text(s.module.operation) == _text(backup):
                backup.erase()
            else:
                _restore(s.module, backup)
            s.partitioned_arrays = partitions
            s.kernel.functions = functions
            raise
        backup.erase()


def _text(op: ir.Operation) -> str:
    text: str = op.get_asm(enable_debug_info=True)
    return text


def _restore(module: ir.Module, backup: ir.Operation) -> None:
    body = module.body
    for op in reversed(list(body.operations)):
        op.operation.erase()
    end = ir.InsertionPoint(body)
    for op in list(backup.regions[0].blocks[0].operations):
        operation = op.operation
        operation.detach_from_parent()
        end.insert(operation)
    backup.erase()


def check_integer(
    value: Any, minimum: int, what: str, help: str, place: SourcePlace | None = None
) -> int:
    """``value`` as an int of at least ``minimum``.

    Raises:
        ScheduleError: otherwise; ``what`` opens the sentence, such as ``"split: the factor"``.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ScheduleError(f"{what} must be an integer, got {value!r}.", place, help=help)
    number = int(value)
    if number < minimum:
        bound = "positive" if minimum == 1 else "zero or more" if minimum == 0 else f">= {minimum}"
        raise ScheduleError(f"{what} must be {bound}, got {number}.", place, help=help)
    return number
