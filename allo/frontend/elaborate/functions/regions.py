"""Dataflow regions: their streams, their kernels, and one function a kernel instance."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import Any

from allo.dialects.diagnostics import (
    CompileTimeError,
    DataflowError,
    ShapeMismatchError,
    SourcePlace,
    TypeMismatchError,
)
from allo.dialects.streams.processes import SHARE_ABOVE
from allo.dialects.types import Stream
from allo.frontend.affine import Affine, ScalarArg
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.context import (
    Binding,
    FunctionContext,
    StateBinding,
    StreamBinding,
    as_int,
)
from allo.frontend.elaborate.functions import instances as functions
from allo.frontend.elaborate.functions import layouts, older, sharing
from allo.frontend.elaborate.functions.annotations import Declared, show_type
from allo.frontend.elaborate.functions.region_state import (
    Kernel,
    KernelState,
    RegionState,
    check_ends,
    settle_ports,
)
from allo.frontend.elaborate.statements import meta, structs
from allo.frontend.kernel_module import FunctionInfo, ValueInfo
from allo.frontend.syntax import last_name
from allo.frontend.tree import (
    Argument,
    ArgValue,
    Call,
    For,
    If,
    MakeStream,
    Return,
    Stmt,
    StreamRef,
    Var,
)

MAX_MAPPING = 3


# --- regions ------------------------------------------------------------------------------------


def region_body(ctx: FunctionContext) -> None:
    """Elaborate a region: declarations first, then every kernel instance, then the calls."""
    state = RegionState()
    ctx.region = state
    ctx.info.is_region = True
    ctx.function.attributes.update(dataflow=True, region=True)
    if ctx.info.results:
        raise DataflowError(
            f"The region {ctx.info.origin} returns a value; results go to array arguments.",
            ctx.info.results[0].place,
            help="add an array argument for it, and write it in a kernel.",
        )
    ports = _stream_ports(ctx, state)
    with ctx.scope():
        _region_block(ctx, ctx.source.tree.body)
        if ctx.parts is not None:
            ctx.parts.elaborate(ctx, _stream, _region_block)
        calls = _instances(ctx, state)
    check_ends(state)
    settle_ports(ctx.info, state, ports)
    header = ctx.source.header()
    body = ctx.function.body
    body.extend(MakeStream(ref.place, ref) for ref in state.fifos.values() if ref not in ports)
    body.extend(calls)
    body.append(Return(header, ()))


def _stream_ports(ctx: FunctionContext, state: RegionState) -> list[StreamRef]:
    """The streams that are arguments of a region: kernels use them by name, as those declared in it.

    Raises:
        DataflowError: a kernel of another region calls this one.
    """
    ports = [parameter for parameter in ctx.function.params if isinstance(parameter, StreamRef)]
    for port in ports:
        if ctx.module.building[0] is not ctx.info:
            raise DataflowError(
                f"Argument {port.name} of the region {ctx.info.origin}, which a kernel calls, is a stream.",
                port.place,
                help="a stream is an argument of the outermost region; give a region inside arrays, or write "
                "its kernels in the region around it.",
            )
        binding = StreamBinding(port.name, port.dtype, (), port.place)
        state.fifos[binding, ()] = port
        ctx.bind(port.name, binding)
    return ports


_DECLARATIONS = (ast.AnnAssign, ast.FunctionDef, ast.Pass)


def _region_block(ctx: FunctionContext, nodes: list[ast.stmt]) -> None:
    """Declarations and kernels, those of compile-time branches and repetitions included."""
    position = 0
    while position < len(nodes):
        node = nodes[position]
        if meta.is_meta_branch(node):
            position = meta.branch_chain(ctx, nodes, position, _region_block)
            continue
        if isinstance(node, ast.With):
            _repeated(ctx, node)
        else:
            _region_statement(ctx, node)
        position += 1


def _repeated(ctx: FunctionContext, node: ast.With) -> None:
    """``with allo.meta_for(...)``: kernels and streams of the body, once for each value."""
    before = ctx.region.path
    for number, body in enumerate(meta.repetitions(ctx, node)):
        ctx.region.path = (*before, str(number))
        _region_block(ctx, body)
    ctx.region.path = before


def _region_statement(ctx: FunctionContext, node: ast.stmt) -> None:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if not is_docstring and not isinstance(node, _DECLARATIONS):
        older.refuse_pipe(ctx, node)
        raise DataflowError(
            f"A region holds streams and kernels only, not a {type(node).__name__} statement.",
            ctx.place(node),
            help="move the computation into a df.kernel.",
        )
    dispatch.statement(ctx, node)


def kernel_definition(ctx: FunctionContext, node: ast.FunctionDef) -> bool:
    """Take note of a ``df.kernel`` of a region; False for an ordinary function."""
    call = next((d for d in node.decorator_list if last_name(d) == "kernel"), None)
    if call is None:
        return False
    if ctx.region is None:
        raise DataflowError(
            f"The df.kernel {node.name!r} does not stand in a df.region.",
            ctx.place(call),
            help="put @df.region() before the function around it.",
        )
    if not isinstance(call, ast.Call):
        raise _missing_mapping(ctx, node, call)
    ctx.region.kernels.append(Kernel(node, call, ctx, [*ctx.scopes], ctx.region.path))
    return True


def _missing_mapping(ctx: FunctionContext, node: ast.FunctionDef, place: ast.expr) -> DataflowError:
    return DataflowError(
        f"Missing kernel mapping: the df.kernel {node.name!r} is missing required 'mapping' "
        "parameter.",
        ctx.place(place),
        help=f"write {older.decorator(ctx, node, None)} for a single instance.",
    )


def declare_stream(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    """``pipe: Stream[T, depth]`` or ``fifo: Stream[T, depth][P0, P1]``."""
    if ctx.region is None:
        raise DataflowError(
            f"The stream {name} is declared outside a df.region.",
            ctx.place(node),
            help="streams belong to the region; kernels use them by name.",
        )
    if node.value is not None:
        raise DataflowError(
            f"The stream {name} cannot be initialised.",
            ctx.place(node.value),
            help="let a kernel put the first elements.",
        )
    ctx.bind(name, _stream(ctx, name, said, ctx.place(node)))


def _stream(ctx: FunctionContext, name: str, said: Declared, place: SourcePlace) -> StreamBinding:
    """A stream of the region, called by its name and the repetition that it belongs to."""
    dtype = said.dtype
    assert isinstance(dtype, Stream)
    if isinstance(dtype.depth, bool) or as_int(dtype.depth) is None or dtype.depth < 1:
        raise CompileTimeError(
            f"The depth of stream {name} must be a positive integer, not {dtype.depth!r}.",
            said.place,
            help="write Stream[int32, 4] for four elements.",
        )
    if any(as_int(extent) is None for extent in (*said.shape, *dtype.shape)):
        raise CompileTimeError(
            f"The shape of stream {name} should be compile time constants: stream array shape "
            "should be a compile time constant.",
            said.place,
            help="use numbers, or template parameters of the region.",
        )
    structs.require_flat(Declared(dtype.dtype, (), said.place))
    shape = tuple(int(extent) for extent in said.shape if extent is not None)
    called = "_".join([name, *ctx.region.path])
    return StreamBinding(called, dtype, shape, place)


# --- kernels ------------------------------------------------------------------------------------


def _instances(ctx: FunctionContext, state: RegionState) -> list[Call]:
    calls: list[Call] = []
    for kernel in state.kernels:
        owner, here = kernel.owner, kernel.owner.scopes
        owner.scopes = kernel.scopes
        mapping = _mapping(owner, kernel.node, kernel.decorator)
        taken = _region_arguments(owner, kernel.node, kernel.decorator)
        pids = itertools.product(*(range(extent) for extent in mapping))
        built = (_instance(owner, state, kernel, pid, taken) for pid in pids)
        instances = [i for i in built if i is not None]
        owner.scopes = here
        if _shares(ctx, len(instances)):
            sharing.share(ctx.module, instances)
        calls += [_call(ctx, instance) for instance in instances]
    return calls


def _shares(ctx: FunctionContext, count: int) -> bool:
    wanted = ctx.module.share
    return count > SHARE_ABOVE if wanted is None else wanted


def _call(ctx: FunctionContext, instance: sharing.Instance) -> Call:
    info = instance.info
    if info.name not in ctx.info.calls:
        ctx.info.calls.append(info.name)
    assert info.place is not None
    arguments = (*instance.arguments, *instance.extra)
    return Call(info.place, info.name, arguments, (), instance.name)


def _keyword(decorator: ast.Call, name: str, position: int) -> ast.expr | None:
    for keyword in decorator.keywords:
        if keyword.arg == name:
            return keyword.value
    return decorator.args[position] if len(decorator.args) > position else None


def _mapping(ctx: FunctionContext, node: ast.FunctionDef, decorator: ast.Call) -> tuple[int, ...]:
    said = _keyword(decorator, "mapping", 0)
    if said is None:
        raise _missing_mapping(ctx, node, decorator)
    value = ctx.constant(said, f"The mapping of {node.name}")
    extents = [as_int(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
    fits = 1 <= len(extents) <= MAX_MAPPING
    if not fits or any(extent is None or extent < 1 for extent in extents):
        raise CompileTimeError(
            f"The mapping of {node.name} must be 1 to {MAX_MAPPING} positive integers, "
            f"not {value!r}.",
            ctx.place(said),
            help="write mapping=[1] for one instance, mapping=[2, 4] for eight.",
        )
    return tuple(extent for extent in extents if extent is not None)


Taken = list[tuple[Var, ast.expr]]


def _region_arguments(ctx: FunctionContext, node: ast.FunctionDef, decorator: ast.Call) -> Taken:
    """The region's arrays that ``args=`` names, one a parameter."""
    said = _keyword(decorator, "args", 1)
    parts: list[ast.expr] = []
    if isinstance(said, (ast.List, ast.Tuple)):
        parts = list(said.elts)
    elif said is not None:
        raise DataflowError(
            f"args= of {node.name} must be a list of argument names of the region.",
            ctx.place(said),
            help="write args=[A, B].",
        )
    if said is None and node.args.args:
        older.refuse_signature(ctx, node, decorator)
    if len(parts) != len(node.args.args):
        raise DataflowError(
            f"'args' length mismatch: df.kernel {node.name!r} has {len(node.args.args)} "
            f"parameters, but args= names {len(parts)}.",
            ctx.place(said or decorator),
            help="name one array of the region for each parameter.",
        )
    return [(_region_array(ctx, node, part), part) for part in parts]


def _region_array(ctx: FunctionContext, node: ast.FunctionDef, part: ast.expr) -> Var:
    if not isinstance(part, ast.Name):
        raise DataflowError(
            f"args= of {node.name} must name arguments of the region, not {ast.unparse(part)}.",
            ctx.place(part),
            help="write args=[A, B] with arguments of the region.",
        )
    found = ctx.find_own(part.id)
    if isinstance(found, Var) and found.shape:
        return found
    if isinstance(found, ScalarArg):
        raise DataflowError(
            f"Scalar {part.id!r} cannot appear in `args=[...]` on @df.kernel {node.name!r}.",
            ctx.place(part),
            help=f"use {part.id} by name inside the kernel; it is passed along by itself.",
        )
    if isinstance(found, StreamBinding):
        raise DataflowError(
            f"The stream {part.id!r} cannot appear in args= of {node.name}.",
            ctx.place(part),
            help=f"use {part.id} by name inside the kernel: {part.id}.get(), {part.id}.put(value).",
        )
    raise DataflowError(
        f"{part.id!r} in args= of {node.name} is not an argument of the region {ctx.info.origin}.",
        ctx.place(part),
        help=f"its arguments: {', '.join(a.name for a in ctx.info.args)}.",
    )


def _instance(
    ctx: FunctionContext,
    region: RegionState,
    declared: Kernel,
    pid: tuple[int, ...],
    taken: Taken,
) -> sharing.Instance | None:
    """Build one instance; None when nothing is left of it."""
    plain = ctx.info.name == ctx.info.origin
    suffix = [] if plain else [ctx.info.name]
    node = declared.node
    symbol = "_".join([node.name, *declared.path, *(str(p) for p in pid), *suffix])
    kernel = KernelState(region)

    def prepare(inner: FunctionContext) -> None:
        inner.kernel = kernel
        kernel.symbol = inner.info.name
        inner.scopes[0] = _states(declared.scopes) | inner.scopes[0]
        _check_arguments(inner, taken, ctx)
        if any(parameter.layout is not None for parameter in inner.info.args):
            layouts.bind_shards(inner, _mapping(ctx, node, declared.decorator))

    key = (node, id(ctx), declared.path, pid)
    asked = functions.Instantiation(
        ctx.source.nested(node), ctx.names, key, ctx, symbol=symbol, pid=pid
    )
    info = functions.build_instance(ctx.module, asked, prepare)
    function = ctx.module.trees[info.name]
    if info.results:
        raise DataflowError(
            f"The df.kernel {node.name!r} returns a value; results go to arrays and streams.",
            info.results[0].place,
            help="write it to an array of args=, or put it into a stream.",
        )
    if not kernel.streams and _is_nothing(function.body):
        _erase(ctx, info)
        return None
    _add_parameters(info, function, kernel)
    arguments: list[Argument] = [var for var, _ in taken]
    arguments += [ArgValue(s.dtype, info.place or s.place, s) for s in kernel.scalars]
    arguments += [region.fifos[fifo] for fifo in kernel.streams]
    for var, parameter in zip((v for v, _ in taken), function.params, strict=False):
        if parameter in function.written:
            ctx.write(var)
    return sharing.Instance(info, function, arguments)


def _states(scopes: list[dict[str, Binding]]) -> dict[str, Binding]:
    """The stateful variables that a kernel sees."""
    visible = {name: binding for scope in scopes for name, binding in scope.items()}
    return {name: found for name, found in visible.items() if isinstance(found, StateBinding)}


def _is_nothing(body: Sequence[Stmt]) -> bool:
    """Whether statements have no effect: loops and branches with nothing in them, or never run."""
    return all(
        isinstance(s, Return)
        or (isinstance(s, For) and (_is_nothing(s.body) or _never_runs(s)))
        or (isinstance(s, If) and _is_nothing(s.then) and _is_nothing(s.other))
        for s in body
    )


def _never_runs(loop: For) -> bool:
    if len(loop.lower) != 1 or len(loop.upper) != 1 or loop.step != Affine(1):
        return False
    low, high = loop.lower[0], loop.upper[0]
    if not isinstance(low, Affine) or not isinstance(high, Affine):
        return False
    return low.is_constant and high.is_constant and low.const >= high.const


def _erase(ctx: FunctionContext, info: FunctionInfo) -> None:
    ctx.module.functions.remove(ctx.module.trees.pop(info.name))
    del ctx.module.infos[info.name]


def _add_parameters(info: FunctionInfo, function: Any, kernel: KernelState) -> None:
    """Arguments first, then scalars of the region, then streams in order of first use."""
    extra: list[ScalarArg | StreamRef] = [*kernel.scalars.values(), *kernel.streams.values()]
    function.params.extend(extra)
    for value in extra:
        info.args.append(ValueInfo(value.name, value.dtype, (), place=value.place))


def _check_arguments(inner: FunctionContext, taken: Taken, region: FunctionContext) -> None:
    for (var, part), parameter in zip(taken, inner.info.args, strict=True):
        if parameter.dtype == var.dtype and parameter.shape == var.shape:
            continue
        wanted = show_type(parameter.dtype, parameter.shape)
        has = show_type(var.dtype, var.shape)
        kind = TypeMismatchError if parameter.shape == var.shape else ShapeMismatchError
        notes = (("the parameter", parameter.place),) if parameter.place else ()
        raise kind(
            f"df.kernel argument {parameter.name} do not match {var.name}: "
            f"{inner.info.origin} wants {wanted}, but {var.name} is {has}.",
            region.place(part),
            help="give both the same element type and shape.",
            notes=notes,
        )
