"""Helpers for writing the modules of a wrapper."""

from __future__ import annotations

from collections.abc import Mapping

from ..emit.builder import ModuleBuilder
from ..emit.deep_fifo import deep_fifo_module, is_deep
from ..emit.fifo import fifo_module
from ..graph.linear import bits_unsigned
from ..netlist.operations import CLOCK, RESET, Instance


def put_instance(
    text: ModuleBuilder, label: str, module: ModuleBuilder, inputs: Mapping[str, str]
) -> dict[str, str]:
    """An instance of a module without probes; its outputs by name."""
    joined = {"clk": CLOCK, "rst": RESET, **inputs}
    given = {name: (joined[name], kind) for name, kind in module.ports.inputs}
    outputs = {name: text.fresh() for name, _, _ in module.ports.outputs}
    made = [(outputs[name], name, kind) for name, kind, _ in module.ports.outputs]
    text.add(Instance(label, module.name, given, made))
    return outputs


class Made:
    """The modules a wrapper is made of, each once, in the order in which they were first asked for.

    Attributes:
        deep: by name what stands in hardware for FIFOs of many words.
    """

    def __init__(self) -> None:
        self.modules: dict[str, ModuleBuilder] = {}
        self.deep: dict[str, ModuleBuilder] = {}

    def take(self, module: ModuleBuilder) -> ModuleBuilder:
        """The module of this name: the first one that was taken."""
        return self.modules.setdefault(module.name, module)

    def fifo(
        self, text: ModuleBuilder, label: str, width: int, depth: int, inputs: Mapping[str, str]
    ) -> dict[str, str]:
        """A FIFO whose ready and valid come from registers; its outputs by name."""
        module = self.take(fifo_module(width, depth, bypass=False))
        if is_deep(width, depth, bypass=False):
            self.deep[module.name] = deep_fifo_module(width, depth)
        return put_instance(text, label, module, inputs)


def reserve_ports(text: ModuleBuilder, inputs: Mapping[str, int], outputs: tuple[str, ...]) -> None:
    """Declare input ports by name and width, and keep the names of outputs from being taken."""
    for name, width in inputs.items():
        text.input(name, f"i{width}")
    for name in (*inputs, *outputs):
        text.reserve(name)


def flag(text: ModuleBuilder, name: str, up: str, down: str) -> str:
    """A bit that ``up`` sets and ``down`` clears, ``up`` first; ``name`` is of :meth:`named`."""
    kept = text.all_of(name, text.invert(down))
    return text.register(name, text.any_of(up, kept), 1, reset=0)


def up_down(text: ModuleBuilder, name: str, width: int, up: str, down: str) -> str:
    """A counter that goes up and down, and stays where both bits are set."""
    one = text.const(1, width)
    more, less = text.binary("add", name, one, width), text.binary("sub", name, one, width)
    changed = text.binary("xor", up, down, 1)
    return text.register(name, text.mux(up, more, less, width), width, enable=changed, reset=0)


def concat(text: ModuleBuilder, parts: list[tuple[str, int]]) -> str:
    """One word of parts, the lowest first."""
    if len(parts) == 1:
        return parts[0][0]
    return text.concat(parts[::-1])


__all__ = ["Made", "bits_unsigned", "concat", "flag", "put_instance", "reserve_ports", "up_down"]
