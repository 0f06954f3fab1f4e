"""Function instances: signatures, template arguments, bodies, results."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

from allo.dialects.diagnostics import (
    CompileTimeError,
    DataflowError,
    FrontendError,
    ShapeMismatchError,
    SourcePlace,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.text import differences
from allo.dialects.types import AlloType, Float, Int, Stream, Struct
from allo.frontend.affine import ScalarArg
from allo.frontend.capture import Names, unwrap
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.context import (
    ConstBinding,
    FunctionContext,
    ModuleContext,
    NestedFunction,
    StreamBinding,
)
from allo.frontend.elaborate.expressions.blocks import has_block
from allo.frontend.elaborate.functions import layouts
from allo.frontend.elaborate.functions.annotations import Declared, declared, parse_string
from allo.frontend.elaborate.functions.inference import infer
from allo.frontend.elaborate.functions.templates import template_values
from allo.frontend.elaborate.shared_parameters import SharedParameters, shared_parameters
from allo.frontend.elaborate.statements import structs
from allo.frontend.kernel_module import FunctionInfo, ValueInfo
from allo.frontend.source import Source, source_of
from allo.frontend.syntax import flatten, is_none
from allo.frontend.tree import ArgValue, Function, Store, StreamRef, Var


def is_kernel(function: Any) -> bool:
    """Whether a captured value can be compiled: a Python function with annotated arguments."""
    if not isinstance(function, FunctionType):
        return False
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    annotated = getattr(function, "__annotations__", {})
    return all(name in annotated for name in names) and (bool(names) or bool(annotated))


def takes_nothing(function: Any) -> bool:
    """Whether a captured value is a Python function without parameters, which a kernel may be, too."""
    if not isinstance(function, FunctionType) or (function.__module__ or "").startswith("allo."):
        return False
    return not inspect.signature(function).parameters


def is_external(function: Any) -> bool:
    """Whether a captured value is an external module callable in kernels."""
    return hasattr(function, "generate_c_interface") or hasattr(function, "__allo_external__")


def is_region(function: Any) -> bool:
    """Whether a captured value is a function decorated with ``df.region``."""
    return getattr(function, "__allo_region__", False) is True


def external_instance(ctx: FunctionContext, node: ast.Call, function: Any) -> FunctionInfo:
    """The declaration of an external function."""
    declare = getattr(function, "__allo_external__", None)
    if declare is None:
        raise ctx.unsupported(
            node, "This external module cannot be called from a kernel yet.", "use allo.IPModule."
        )
    found = ctx.module.instances.get(function)
    if found is None:
        found = declare()
        found.name = ctx.module.unique_symbol(found.name)
        ctx.module.instances[function] = found
        ctx.module.infos[found.name] = found
        ctx.module.ext_libs.append(function)
        ctx.module.declarations.append(found)
    return found


# --- instances ------------------------------------------------------------------------------------


def instance_for_call(
    ctx: FunctionContext, node: ast.Call, function: Any, template: ast.expr | None
) -> FunctionInfo:
    """The instance a call needs, built now if it is the first of its kind."""
    values, instance_id = template_values(ctx, template)
    place = ctx.place(node)
    outer: FunctionContext | None
    if isinstance(function, NestedFunction):
        owner = function.owner
        source, names, outer = owner.source.nested(function.tree), owner.names, owner
        identity: Any = (function.tree, id(owner))
    else:
        fn = unwrap(function)
        source = source_of(fn)
        names = Names(fn, ctx.module.frames, ctx.module.global_vars, is_top=False)
        outer, identity = None, fn
    if not values and getattr(source.tree, "type_params", None):
        values = _inferred(ctx, node, source, names, outer)
    shared = shared_parameters(ctx, node, source.tree)
    own = (identity, tuple(_key(v) for v in values), instance_id)
    key = (own, shared)
    found = ctx.module.instances.get(key)
    if found is not None:
        _refuse_recursion(ctx, found, place)
        return found
    region = is_region(function)
    if region and ctx.kernel is None:
        raise DataflowError(
            f"The region {source.tree.name} is called outside a df.kernel.",
            place,
            help="a region runs inside a kernel of another region, or is the top of a build.",
        )
    asked = Instantiation(
        source,
        names,
        key,
        outer,
        values,
        instance_id,
        place,
        is_region=region,
        shared=shared,
        state=own if outer is None else (function.tree, outer.state or id(outer), *own[1:]),
    )
    return build_instance(ctx.module, asked)


def _inferred(
    ctx: FunctionContext,
    node: ast.Call,
    source: Source,
    names: Names,
    outer: FunctionContext | None,
) -> tuple[Any, ...]:
    """The template arguments of a call without brackets."""
    name = source.tree.name
    function = Function(name, [], [], place=source.header())
    info = FunctionInfo(name, name, (), None, place=source.header())
    return infer(ctx, node, FunctionContext(ctx.module, source, names, function, info, outer))


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return (type(value).__name__, value)


def _refuse_recursion(ctx: FunctionContext, info: FunctionInfo, place: SourcePlace) -> None:
    if not any(entry is info for entry in ctx.module.building):
        return
    raise UnsupportedSyntaxError(
        f"{info.origin} calls itself; hardware has no call stack.",
        place,
        help="write the recursion as a loop with its own stack array.",
    )


@dataclass(frozen=True, slots=True)
class Instantiation:
    """What an instance is made of.

    Attributes:
        source, names: the function's text, and what its free names mean.
        key: tells it from other instances of the module.
        outer: the function that it is nested in.
        values: of its template parameters.
        instance_id, place: the name that the call gave to the instance, and the call.
        symbol: its name; None for one that follows from the function's.
        pid: its coordinates, where it is a process.
        is_region: whether it is a region.
        shared: parameters that share the caller's variable.
        state: tells the state that it keeps between calls from that of others.
    """

    source: Source
    names: Names
    key: Any
    outer: FunctionContext | None = None
    values: Sequence[Any] = ()
    instance_id: str | None = None
    place: SourcePlace | None = None
    symbol: str | None = None
    pid: tuple[int, ...] | None = None
    is_region: bool = False
    shared: SharedParameters = frozenset()
    state: object = None


def build_instance(
    module: ModuleContext,
    asked: Instantiation,
    prepare: Callable[[FunctionContext], None] | None = None,
) -> FunctionInfo:
    """Elaborate one function with given template arguments and register it."""
    source, instance_id, values = asked.source, asked.instance_id, asked.values
    origin, header = source.tree.name, source.header()
    name = module.unique_symbol(
        asked.symbol or (f"{origin}_{instance_id}" if instance_id else origin)
    )
    info = FunctionInfo(name, origin, tuple(values), instance_id, place=header, pid=asked.pid)
    function = Function(name, [], [], place=source.header())
    ctx = FunctionContext(module, source, asked.names, function, info, asked.outer)
    ctx.shared_parameters, ctx.state = asked.shared, asked.state
    module.instances[asked.key] = info
    module.building.append(info)
    try:
        _bind_template(ctx, values, asked.place)
        _signature(ctx)
        if prepare is not None:
            prepare(ctx)
        if ctx.kernel is None:
            layouts.refuse_layouts(ctx, [*info.args, *info.results])
        dispatch.body(ctx, is_region=asked.is_region)
    finally:
        module.building.pop()
    module.functions.append(function)
    module.trees[name] = function
    module.infos[name] = info
    return info


def _bind_template(ctx: FunctionContext, values: Sequence[Any], place: SourcePlace | None) -> None:
    parameters = getattr(ctx.source.tree, "type_params", [])
    where = place or ctx.source.header()
    if len(parameters) != len(values):
        names = ", ".join(p.name for p in parameters) or "none"
        raise CompileTimeError(
            f"{ctx.info.origin} has {len(parameters)} template parameters ({names}), but "
            f"{len(values)} {'value was' if len(values) == 1 else 'values were'} given.",
            where,
            notes=() if parameters else (differences.INSTANTIATE,),
            help="give one value each: instantiate=[int32, 4] or f[int32, 4](…); a text is an id."
            if parameters
            else "leave the values out.",
        )
    for parameter, value in zip(parameters, values, strict=True):
        bound = getattr(parameter, "bound", None)
        if bound is not None:
            _check_bound(ctx, parameter.name, bound, value, where)
        binding = value if isinstance(value, NestedFunction) else ConstBinding(value)
        ctx.scopes[0][parameter.name] = binding


def _check_bound(
    ctx: FunctionContext, name: str, bound: ast.expr, value: Any, place: SourcePlace
) -> None:
    allowed = ctx.constant(bound, "The bound of a template parameter")
    choices = allowed if isinstance(allowed, tuple) else (allowed,)
    if any(_within(choice, value) for choice in choices):
        return
    raise CompileTimeError(
        f"Cannot resolve type {name} with {value!r}: the parameter must be {ast.unparse(bound)}.",
        place,
        notes=(("the parameter", ctx.place(bound)),),
        help="instantiate the template with a value that its bound holds.",
    )


def _within(choice: Any, value: Any) -> bool:
    if isinstance(choice, AlloType):
        choice = type(choice)
    if choice is int:
        choice = Int
    if choice is float:
        choice = Float
    check = getattr(choice, "isinstance", None)
    return check(value) if check is not None else isinstance(value, choice)


# --- signatures ---------------------------------------------------------------------------------------


def _signature(ctx: FunctionContext) -> None:
    arguments = ctx.source.tree.args
    _refuse_odd_arguments(ctx, arguments)
    assigned = _assigned_names(ctx.source.tree)
    for argument in arguments.args:
        _parameter(ctx, argument, argument.arg in assigned)
    _defaults(ctx, arguments)
    _results(ctx)


def _refuse_odd_arguments(ctx: FunctionContext, arguments: ast.arguments) -> None:
    odd = arguments.vararg or arguments.kwarg or next(iter(arguments.kwonlyargs), None)
    if odd is not None:
        raise ctx.unsupported(
            odd,
            f"Argument {odd.arg!r}: a kernel takes plain arguments only.",
            f"name each argument and its type, as {odd.arg}: int32[8], without * in front.",
        )


def _parameter(ctx: FunctionContext, argument: ast.arg, assigned: bool) -> None:
    place = ctx.place(argument)
    if argument.annotation is None:
        raise UnsupportedSyntaxError(
            f"Argument {argument.arg!r} of {ctx.info.origin} has no type.",
            place,
            help=f"annotate it: {argument.arg}: int32 or {argument.arg}: float32[16, 16].",
        )
    said = declared(ctx, argument.annotation)
    if said.stateful or said.dtype.stateful:
        raise TypeMismatchError(
            f"Argument {argument.arg!r} cannot be Stateful; only a local variable can.",
            place,
            help="declare the state as a local variable: t: int32 @ Stateful = 0.",
        )
    if said.dtype.constexpr:
        raise TypeMismatchError(
            f"Argument {argument.arg!r} cannot be a ConstExpr.",
            place,
            help="make it a template parameter.",
        )
    if isinstance(said.dtype, Stream):
        _stream_parameter(ctx, argument.arg, said, place)
        return
    structs.require_flat(said)
    shape = said.shape
    ctx.info.args.append(
        ValueInfo(argument.arg, said.dtype, shape, said.memory, said.layout, place)
    )
    if shape:
        var = Var(argument.arg, said.dtype, shape, "arg", place, said.memory)
        ctx.function.params.append(var)
        ctx.bind(argument.arg, var)
        return
    scalar = ScalarArg(argument.arg, said.dtype, place)
    ctx.function.params.append(scalar)
    held = isinstance(said.dtype, Struct) and has_block(said.dtype)
    if not assigned and not held:
        ctx.bind(argument.arg, scalar)
        return
    if isinstance(said.dtype, Struct):
        structs.bind_argument(ctx, scalar)
        return
    var = stores.new_local(ctx, argument.arg, said.dtype, (), place)
    ctx.emit(Store(place, var, (), ArgValue(said.dtype, place, scalar)))
    ctx.bind(argument.arg, var)


def _stream_parameter(ctx: FunctionContext, name: str, said: Declared, place: SourcePlace) -> None:
    """One FIFO of the kernel that calls the function."""
    if said.shape:
        raise DataflowError(
            f"Argument {name!r} of {ctx.info.origin} is an array of streams; a function takes one.",
            said.place,
            help="pass the FIFOs that it uses one by one.",
        )
    ref = StreamRef(name, said.dtype, place)
    ctx.info.args.append(ValueInfo(name, said.dtype, (), place=place))
    ctx.function.params.append(ref)
    ctx.bind(name, StreamBinding(name, said.dtype, (), place, ref))


@lru_cache(maxsize=64)
def _assigned_names(tree: ast.FunctionDef) -> frozenset[str]:
    """Names the body assigns, bits of scalars (``x[0] = 1``) included."""
    found: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            base, _ = flatten(node)
            if isinstance(base, ast.Name):
                found.add(base.id)
        pending.extend(ast.iter_child_nodes(node))
    return frozenset(found)


def _defaults(ctx: FunctionContext, arguments: ast.arguments) -> None:
    if not arguments.defaults:
        return
    named = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    defaults: dict[str, ast.Constant] = {}
    for argument, node in zip(named, arguments.defaults, strict=True):
        value = ctx.constant(node, f"The default of {argument.arg}")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise CompileTimeError(
                f"The default of {argument.arg} must be a number, not {value!r}.",
                ctx.place(node),
                help="give a number, or leave the default out.",
            )
        defaults[argument.arg] = ast.copy_location(ast.Constant(value), node)
    ctx.module.defaults[ctx.info.name] = defaults
    ctx.function.attributes["arg_defaults"] = {
        name: repr(node.value) for name, node in defaults.items()
    }


def _results(ctx: FunctionContext) -> None:
    node = ctx.source.tree.returns
    if node is None or is_none(node):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = parse_string(ctx, node)
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    for part in parts:
        said = declared(ctx, part)
        structs.require_flat(said)
        if None in said.shape:
            raise ShapeMismatchError(
                "A result cannot have a dynamic extent.",
                said.place,
                help="write it into an array argument.",
            )
        ctx.function.results.append((said.dtype, said.shape))
        ctx.info.results.append(
            ValueInfo("", said.dtype, said.shape, said.memory, said.layout, said.place)
        )


def top_values(instantiate: Sequence[Any] | None) -> tuple[tuple[Any, ...], str | None]:
    """Template arguments and instance id among what ``instantiate`` gives."""
    values = [v for v in instantiate or () if not isinstance(v, str)]
    ids = [v for v in instantiate or () if isinstance(v, str)]
    return tuple(values), (ids[0] if ids else None)


def require_function(fn: Any) -> Callable[..., Any]:
    """Refuse what is not a Python function."""
    if isinstance(fn, FunctionType):
        return fn
    inner = getattr(fn, "__wrapped__", None)
    if isinstance(inner, FunctionType):
        return inner
    raise FrontendError(
        f"{fn!r} is not a Python function.",
        help="pass the function itself, or its source text with global_vars.",
    )
