"""Passes of the core IR, checked where the tests ask for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Concatenate

from ._mlir import ir
from .verify import problems, verify


def module_pass[**P, R](
    function: Callable[Concatenate[ir.Module, P], R],
) -> Callable[Concatenate[ir.Module, P], R]:
    """Make a function that rewrites a module a pass.

    Where the environment has ``ALLO_VERIFY`` set, as in the tests, a module that kept the rules of
    ``docs/internals/core_ir.md`` is held against them again after the pass.
    """

    @wraps(function)
    def run(module: ir.Module, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if not os.environ.get("ALLO_VERIFY"):
            return function(module, *args, **kwargs)
        kept = not any(problems(module))
        result = function(module, *args, **kwargs)
        if kept:
            verify(module)
        return result

    return run
