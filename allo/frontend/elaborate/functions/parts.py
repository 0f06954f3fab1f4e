"""The parts of a composed region: what their parameters stand for, and their streams and kernels."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from allo.dialects.diagnostics import DataflowError, SourcePlace
from allo.dialects.types import Stream
from allo.frontend.affine import ScalarArg
from allo.frontend.capture import Names, unwrap
from allo.frontend.composition import Composition, Placed
from allo.frontend.elaborate.context import ConstBinding, FunctionContext, StreamBinding
from allo.frontend.elaborate.functions.annotations import Declared, declared, read_type, show_type
from allo.frontend.kernel_module import ValueInfo
from allo.frontend.source import Source, source_of
from allo.frontend.tree import Var

Bound = Var | ScalarArg | StreamBinding
MakeStream = Callable[[FunctionContext, str, Declared, SourcePlace], StreamBinding]
"""Makes a stream of the region that a context elaborates."""
Block = Callable[[FunctionContext, list[ast.stmt]], None]
"""Elaborates declarations and kernels."""


def source_of_composition(composition: Composition) -> Source:
    """An empty definition with the name of the region, where its first part stands.

    Raises:
        DataflowError: it has no parts.
    """
    if not composition.parts:
        raise DataflowError(
            f"The region {composition.name} has no parts.",
            help="add functions with @df.part().",
        )
    first = source_of(unwrap(composition.parts[0].function))
    none = ast.arguments([], [], None, [], [], None, [])
    tree = ast.FunctionDef(composition.name, none, [], [], type_params=[])
    ast.copy_location(tree, first.tree)
    return Source(first.file, first.lines, tree, written=first.tree.name)


@dataclass(slots=True)
class Parts:
    """The parts of a region, elaborated one after the other.

    Attributes:
        bound: what every name is that parts have as a parameter, with the place that it belongs to.
    """

    composition: Composition
    bound: dict[tuple[str, tuple[int | str, ...]], tuple[Bound, Declared]] = field(
        default_factory=dict
    )
    contexts: list[FunctionContext] = field(default_factory=list)

    def begin(self, ctx: FunctionContext) -> None:
        """Give the parts to the context of the region."""
        ctx.parts = self

    def elaborate(self, ctx: FunctionContext, stream: MakeStream, block: Block) -> None:
        """Fill the region: parameters of all parts, arguments, then streams and kernels."""
        for part in self.composition.parts:
            self.contexts.append(self._part(ctx, part, stream))
        self._arguments(ctx)
        for part, inner in zip(self.composition.parts, self.contexts, strict=True):
            ctx.region.path = _path(part.at)
            with inner.scope():
                block(inner, inner.source.tree.body)
        ctx.region.path = ()

    def _part(self, ctx: FunctionContext, part: Placed, stream: MakeStream) -> FunctionContext:
        function = unwrap(part.function)
        names = Names(function, ctx.module.frames, ctx.module.global_vars)
        inner = FunctionContext(ctx.module, source_of(function), names, ctx.function, ctx.info)
        inner.region = ctx.region
        values = getattr(function, "__annotations__", {})
        for parameter in inner.source.tree.args.args:
            name = part.names.get(parameter.arg, parameter.arg)
            said = _declared(inner, parameter, values.get(parameter.arg))
            if name in self.composition.values:
                _check_number(name, said)
                inner.bind(parameter.arg, ConstBinding(self.composition.values[name]))
                continue
            is_stream = isinstance(said.dtype, Stream)
            at = part.at if is_stream and name not in self.composition.common else ()
            if (name, at) not in self.bound:
                ctx.region.path = _path(at)
                made = stream(inner, name, said, said.place) if is_stream else _value(name, said)
                self.bound[name, at] = made, said
            bound, first = self.bound[name, at]
            _check_same(name, said, first)
            inner.bind(parameter.arg, bound)
        return inner

    def _arguments(self, ctx: FunctionContext) -> None:
        region, given = self.composition, self.composition.arguments
        taken = [n for (n, _), (b, _) in self.bound.items() if not isinstance(b, StreamBinding)]
        for name in given:
            if name not in taken:
                raise DataflowError(
                    f"No part of the region {region.name} takes its argument {name}.",
                    ctx.source.header(),
                    help="leave it out of arguments=.",
                )
        for name in taken:
            bound, said = self.bound[name, ()]
            if name not in given:
                raise DataflowError(
                    f"The region {region.name} has no argument {name}, which a part takes.",
                    said.place,
                    help="name it in arguments=, in the order of a call.",
                )
        for name in given:
            bound, said = self.bound[name, ()]
            assert not isinstance(bound, StreamBinding)
            ctx.function.params.append(bound)
            ctx.bind(name, bound)
            ctx.info.args.append(
                ValueInfo(name, said.dtype, said.shape, said.memory, said.layout, said.place)
            )


def _declared(ctx: FunctionContext, parameter: ast.arg, value: object) -> Declared:
    if parameter.annotation is None:
        raise DataflowError(
            f"The parameter {parameter.arg} of the part {ctx.source.tree.name} has no type.",
            ctx.place(parameter),
            help=f"annotate it: {parameter.arg}: Stream[int32, 4] or {parameter.arg}: int32[16].",
        )
    if value is None or isinstance(value, str):
        return declared(ctx, parameter.annotation)
    return read_type(ctx, parameter.annotation, value)


def _path(at: tuple[int | str, ...]) -> tuple[str, ...]:
    return tuple(str(part) for part in at)


def _value(name: str, said: Declared) -> Var | ScalarArg:
    if said.shape:
        return Var(name, said.dtype, said.shape, "arg", said.place, said.memory)
    return ScalarArg(name, said.dtype, said.place)


def _check_number(name: str, said: Declared) -> None:
    if not said.shape and not isinstance(said.dtype, Stream):
        return
    raise DataflowError(
        f"{name} is a number in values=, and {show_type(said.dtype, said.shape)} in a part of the region.",
        said.place,
        help="values= has numbers for parameters that are scalars.",
    )


def _check_same(name: str, said: Declared, first: Declared) -> None:
    if (said.dtype, said.shape) == (first.dtype, first.shape):
        return
    raise DataflowError(
        f"{name} is {show_type(said.dtype, said.shape)} in one part of a region and "
        f"{show_type(first.dtype, first.shape)} in another.",
        said.place,
        help="parameters of one name are one stream or one argument: give them one type.",
        notes=(("the other part", first.place),),
    )
