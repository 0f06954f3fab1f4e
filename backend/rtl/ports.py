"""The ports of a design by the names and types of the user's function."""

from __future__ import annotations

from collections.abc import Iterator

from .design import ArrayInterface, BankPort, ScalarPort, StreamInterface
from .emit.builder import identifier
from .emit.memory.ram import port_prefix
from .graph.linear import bits_unsigned
from .graph.nodes import Array, Node
from .graph.regions import Function
from .plan.bind import Interface


def scalars_in(function: Function, interface: Interface) -> Iterator[ScalarPort]:
    """The scalar inputs, with their declared types."""
    for (name, width), kind in zip(interface.scalars_in, function.scalar_types, strict=True):
        yield ScalarPort(name, kind, width)


def streams(interface: Interface) -> Iterator[StreamInterface]:
    """The streams that something uses."""
    for prefix, stream in interface.streams:
        if stream.direction:
            direction = "out" if stream.direction == "put" else "in"
            yield StreamInterface(prefix, stream.dtype, stream.width, direction)


def argument_names(function: Function) -> list[str]:
    """The arguments as the ports spell them, in the user's order."""
    arrays = {array.name for array in function.parameters}
    return [n if n in arrays else identifier(n) for n in function.argument_names]


def result_names(function: Function, interface: Interface) -> list[str]:
    """The results as the ports spell them, in order."""
    scalars = iter(interface.scalars_out)
    return [v.name if isinstance(v, Array) else next(scalars)[0] for v in function.returned]


def scalars_out(function: Function, interface: Interface) -> list[ScalarPort]:
    """The scalar results, with their declared types."""
    kinds = [
        kind
        for kind, value in zip(function.result_types, function.returned, strict=True)
        if isinstance(value, Node)
    ]
    return [
        ScalarPort(name, kind, width)
        for (name, width), kind in zip(interface.scalars_out, kinds, strict=True)
    ]


def arrays(
    function: Function, interface: Interface, waiting: frozenset[str]
) -> list[ArrayInterface]:
    """The array arguments and results, with every bank's ports; those in ``waiting`` have a ``ready``."""
    declared = dict(zip((id(v) for v in function.returned), function.result_types, strict=False))
    result = []
    for array, (prefix, uses) in zip(function.parameters, interface.arrays, strict=True):
        width = bits_unsigned(array.depth - 1)
        ports = tuple(
            BankPort(
                port_prefix(prefix, bank, port),
                bank,
                use.reads,
                use.writes,
                width,
                array.name in waiting,
            )
            for (bank, port), use in sorted(uses.items())
        )
        direction = "both" if array.loaded and array.stored else "out" if array.stored else "in"
        result.append(
            ArrayInterface(
                array.name,
                declared.get(id(array), array.dtype),
                array.width,
                array.shape,
                array.layout,
                direction,
                ports,
                array.read_latency,
            )
        )
    return result
