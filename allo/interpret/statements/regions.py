"""Regions: a function that makes FIFOs and runs one process for each instance of its kernels."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import product

from allo.dialects.diagnostics import DataflowError, TypeMismatchError
from allo.dialects.types import Stream

from ..body import Body
from ..expressions import calls
from ..expressions.values import Symbol
from ..instance import Instance, Parameter
from ..known import Known, plain_number
from ..signatures import bind_parameter, read_parameters
from . import assignment
from . import bodies as statements
from .processes import bind_port, last_name
from .streams import StreamSymbol


def region(body: Body, node: ast.FunctionDef, python: str) -> Instance:
    """The instance of a region.

    Raises:
        DataflowError: for anything but streams and kernels in it.
    """
    if node.returns is not None and not _is_none(node.returns):
        raise DataflowError("A region returns nothing.", body.place(node.returns))
    body.is_region = True
    parameters = read_parameters(body, node)
    for position, parameter in enumerate(parameters):
        if isinstance(parameter.said.dtype, Stream):
            bind_port(body, parameter)
        else:
            bind_parameter(body, parameter, position)
    runs: list[str] = []
    _Parts(body, parameters, runs).block(node.body)
    ports = [p.symbol for p in parameters if isinstance(p.symbol, StreamSymbol)]
    given = ", ".join(f"({port.python}, {port.is_filled})" for port in ports)
    body.emit(f"run_processes({node.name!r}, [{', '.join(runs)}], [{given}])")
    names = ", ".join(p.symbol.python for p in parameters)
    body.program.text += [f"def {python}({names}):", *body.lines]
    return Instance(node.name, python, parameters, [], body.place(node))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Parts:
    """What stands in a region, kernels of compile-time branches and repetitions included.

    Attributes:
        path: which repetition of each meta_for around the present statement this is.
    """

    def __init__(self, body: Body, parameters: list[Parameter], runs: list[str]) -> None:
        self.body, self.parameters, self.runs = body, parameters, runs
        self.path: tuple[int, ...] = ()

    def block(self, nodes: list[ast.stmt]) -> None:
        """Translate statements in order."""
        statements.block(self.body, nodes, lambda _, node: self._part(node))

    def _part(self, node: ast.stmt) -> None:
        if not isinstance(node, ast.With):
            _part(self.body, node, self.parameters, self.runs, self.path)
            return
        before = self.path
        for number, _ in enumerate(statements.repetitions(self.body, node)):
            self.path = (*before, number)
            self.block(statements.with_items(node))
        self.path = before


def _part(
    body: Body,
    node: ast.stmt,
    parameters: list[Parameter],
    runs: list[str],
    path: tuple[int, ...],
) -> None:
    if isinstance(node, ast.AnnAssign):
        assignment.declare(body, node)
    elif isinstance(node, ast.FunctionDef):
        marks = [d for d in node.decorator_list if last_name(d) == "kernel"]
        if not marks:
            calls.local_function(body, node)
        else:
            runs += _kernel(body, node, marks[0], parameters, path)
    elif not isinstance(node, ast.Pass) and not (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ):
        raise DataflowError(
            "A region holds streams and kernels only.",
            body.place(node),
            help="compute in a kernel.",
        )


def _kernel(
    body: Body,
    node: ast.FunctionDef,
    mark: ast.expr,
    parameters: list[Parameter],
    path: tuple[int, ...],
) -> list[str]:
    """The text that starts each instance of a kernel."""
    given = {k.arg: k.value for k in mark.keywords} if isinstance(mark, ast.Call) else {}
    positional = mark.args if isinstance(mark, ast.Call) else []
    for name, value in zip(("mapping", "args"), positional, strict=False):
        given[name] = value
    if given.get("mapping") is None:
        raise DataflowError(
            f"Missing kernel mapping: {node.name!r}.", body.place(node), help="mapping=[1]."
        )
    mapping = body.evaluate(given["mapping"], "The mapping of a kernel")
    sizes = [int(plain_number(extent)) for extent in mapping]
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise DataflowError("A mapping has one to three positive extents.", body.place(mark))
    arrays = _arrays(body, node, given.get("args"), parameters)
    return [
        _process(body, node, pid, sizes, arrays, path)
        for pid in product(*(range(extent) for extent in sizes))
    ]


def _arrays(
    body: Body, node: ast.FunctionDef, args: ast.expr | None, parameters: list[Parameter]
) -> list[Parameter]:
    """The parameters of the region that a kernel's stand for."""
    names = list(args.elts) if isinstance(args, (ast.List, ast.Tuple)) else []
    by_name = {p.name: p for p in parameters}
    found = []
    for name in names:
        parameter = by_name.get(name.id) if isinstance(name, ast.Name) else None
        if parameter is None:
            raise DataflowError(
                f"{ast.unparse(name)!r} is no argument of the region.", body.place(name)
            )
        if parameter.said.shape is None:
            raise DataflowError(
                f"Scalar {parameter.name!r} cannot appear in `args=[...]` on @df.kernel "
                f"{node.name!r}.",
                body.place(name),
                help="use it by its name in the kernel.",
            )
        found.append(parameter)
    if len(node.args.args) != len(found):
        raise DataflowError(
            f"'args' length mismatch: {node.name} has {len(node.args.args)} parameters, and "
            f"{len(found)} arguments are given.",
            body.place(node),
        )
    return found


def _process(
    body: Body,
    node: ast.FunctionDef,
    pid: tuple[int, ...],
    sizes: list[int],
    arrays: list[Parameter],
    path: tuple[int, ...],
) -> str:
    """Translate one instance of a kernel; the text that starts it."""
    name = "_".join([node.name, *map(str, path), *map(str, pid)])
    kernel = Body(body.program, body.text, body.names, name)
    kernel.pid, kernel.process = pid, name
    visible = {
        key: entry
        for scope in body.scopes
        for key, entry in scope.items()
        if isinstance(entry, (Known, StreamSymbol))
        or (isinstance(entry, Symbol) and (entry.shape is None or entry.holder))
    }
    kernel.scopes = [visible, {}]
    for entry in visible.values():
        if isinstance(entry, Symbol) and entry.holder and entry.shape is not None:
            assignment.hold(kernel, entry)
    own, parts = read_parameters(kernel, node), []
    for position, (parameter, outer) in enumerate(zip(own, arrays, strict=True)):
        said, given = parameter.said, outer.said
        if said.dtype.name != given.dtype.name or said.shape != given.shape:
            raise TypeMismatchError(
                f"df.kernel argument {parameter.name} does not match {outer.name}.",
                parameter.place,
                notes=((f"{outer.name} is declared here", outer.place),),
            )
        parts.append(_cut(parameter, pid, sizes))
        bind_parameter(kernel, parameter, position)
    statements.block(kernel, node.body)
    for parameter, outer in zip(own, arrays, strict=True):
        outer.symbol.written = outer.symbol.written or parameter.symbol.written
    scalars = [e.python for e in visible.values() if isinstance(e, Symbol) and not e.holder]
    shared = [*scalars, *kernel.uses]
    python = f"{name}_{body.program.fresh()}"
    takes = ", ".join([*(p.symbol.python for p in own), *shared])
    body.program.text += [f"def {python}({takes}):", *kernel.lines, "    return", "    yield"]
    taken = [f"{p.symbol.python}{part}" for p, part in zip(arrays, parts, strict=True)]
    gives = ", ".join([*taken, *shared])
    return f"({name!r}, {python}({gives}), {kernel.is_endless})"


def _cut(parameter: Parameter, pid: tuple[int, ...], sizes: list[int]) -> str:
    """Text that takes the part of an array which a layout gives to a process; its shape is declared."""
    said = parameter.said
    if said.shape is None or not any(axis is not None for axis in said.axes):
        return ""
    axes = [*said.axes, *[None] * (len(said.shape) - len(said.axes))]
    ranges = []
    for extent, axis in zip(said.shape, axes, strict=True):
        local = (extent or 0) if axis is None else (extent or 0) // sizes[axis]
        ranges.append((0 if axis is None else pid[axis] * local, local))
    parameter.said = replace(said, shape=tuple(local for _, local in ranges))
    return f".part({', '.join(map(str, ranges))})"
