"""Processes run at once, so a variable that keeps its value belongs to one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from allo.dialects.diagnostics import DataflowError
from allo.frontend.kernel_module import FunctionInfo
from allo.frontend.tree import Call, Function, Var


def refuse_shared_state(
    processes: Iterable[Call],
    infos: Mapping[str, FunctionInfo],
    functions: Mapping[str, Function],
) -> None:
    """Refuse a region in which two processes call one function with a stateful variable.

    Raises:
        DataflowError: naming the variable, its function and both processes.
    """
    users: dict[str, Call] = {}
    for process in processes:
        for name in _called(process.callee, infos):
            for var in functions[name].globals if name in functions else ():
                if var.kind != "stateful":
                    continue
                first = users.setdefault(var.symbol, process)
                if first is not process:
                    raise _refusal(var, infos[name].origin, first, process)


def _called(name: str, infos: Mapping[str, FunctionInfo]) -> Iterator[str]:
    """A function and what it calls, each once."""
    seen, left = {name}, [name]
    while left:
        function = left.pop()
        yield function
        fresh = [callee for callee in infos[function].calls if callee not in seen]
        seen.update(fresh)
        left += fresh


def _refusal(var: Var, function: str, first: Call, second: Call) -> DataflowError:
    return DataflowError(
        f"The processes {first.callee} and {second.callee} run at once, and both call {function}, which "
        f"keeps the stateful variable {var.name}: the order of their calls is not defined.",
        second.place,
        help=f'declare {var.name} in one kernel, or give each process an instance: {function}["name"](...).',
        notes=((f"The other process is {first.callee}.", first.place),),
    )


__all__ = ["refuse_shared_state"]
