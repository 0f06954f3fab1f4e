"""The engines of an array on masters side by side, as if there were one as wide as all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...emit.builder import ModuleBuilder
from ..board import Master
from ..masters import reader_module, writer_module
from ..parts import Made, concat, put_instance
from .clients import READ, WRITE, Clients

SHARED_LINES = 128
"""Words that an engine of a shared master keeps, at least two bursts."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What engines are told: to go, from where on each master, and how many words, of so many bits."""

    go: str
    bases: Sequence[str]
    beats: str
    bits: int


@dataclass(frozen=True, slots=True)
class Gang:
    """Engines of the masters ``bundles`` that work side by side, under the name ``engine``."""

    text: ModuleBuilder
    made: Made
    clients: Clients
    bundles: tuple[str, ...]
    engine: str

    @property
    def master(self) -> Master:
        """One as wide as all of them."""
        first = self.clients.master(self.bundles[0])
        return replace(first, width=first.width * len(self.bundles))

    def alone(self, way: str = READ) -> dict[str, str]:
        """What the one master gives to an engine that reads or writes single elements."""
        return self.clients.inputs(self.bundles[0], way, self.engine)

    def keep_alone(self, found: Mapping[str, str], way: str = READ) -> None:
        """What that engine tells the master."""
        self.clients.keep(self.bundles[0], way, self.engine, found)

    def read(self, label: str, orders: Orders, ready: str, lines: int = 2) -> dict[str, str]:
        """``data`` and ``valid`` of the words side by side, ``free``, and ``bad``."""
        text, shared = self.text, self.clients.shared(self.bundles, READ)
        several = len(self.bundles) > 1
        takes = [text.named(f"{label}{n}_take") for n in range(len(self.bundles))]
        found = []
        for n, bundle in enumerate(self.bundles):
            master = self.clients.master(bundle)
            kept = max(lines, SHARED_LINES, 2 * master.burst) if shared else lines
            module = reader_module(master, orders.bits, self.made, kept, measured=shared)
            inputs = {
                "go": orders.go,
                "base": orders.bases[n],
                "beats": orders.beats,
                "ready": takes[n] if several else ready,
                **self.clients.inputs(bundle, READ, self.engine),
            }
            name = f"{label}{n}" if several else label
            found.append(put_instance(text, name, self.made.take(module), inputs))
            self.clients.keep(bundle, READ, self.engine, found[-1])
        if not several:
            return found[0]
        valid = text.all_of(*(each["valid"] for each in found))
        for take in takes:
            text.alias(take, text.all_of(valid, ready), 1)
        width = self.clients.master(self.bundles[0]).width
        return {
            "data": concat(text, [(each["data"], width) for each in found]),
            "valid": valid,
            "free": text.all_of(*(each["free"] for each in found)),
            "bad": text.any_of(*(each["bad"] for each in found)),
        }

    def write(self, label: str, orders: Orders, words: tuple[str, str, str]) -> dict[str, str]:
        """``ready`` for words side by side, given data, strobes and valid; ``free``, ``idle``, ``bad``."""
        text = self.text
        data, strobe, valid = words
        count = len(self.bundles)
        readies = [text.named(f"{label}{n}_ready") for n in range(count)] if count > 1 else []
        found = []
        for n, bundle in enumerate(self.bundles):
            master = self.clients.master(bundle)
            width, lanes = master.width, master.width // 8
            others = [r for k, r in enumerate(readies) if k != n]
            inputs = {
                "go": orders.go,
                "base": orders.bases[n],
                "beats": orders.beats,
                "data": text.slice(data, n * width, width, count * width) if others else data,
                "strobe": text.slice(strobe, n * lanes, lanes, count * lanes) if others else strobe,
                "valid": text.all_of(valid, *others) if others else valid,
                **self.clients.inputs(bundle, WRITE, self.engine),
            }
            module = writer_module(master, orders.bits, self.made)
            name = f"{label}{n}" if others else label
            found.append(put_instance(text, name, self.made.take(module), inputs))
            self.clients.keep(bundle, WRITE, self.engine, found[-1])
        if count == 1:
            return found[0]
        for ready, each in zip(readies, found, strict=True):
            text.alias(ready, each["ready"], 1)
        every = ("ready", "free", "idle")
        joined = {name: text.all_of(*(each[name] for each in found)) for name in every}
        return joined | {"bad": text.any_of(*(each["bad"] for each in found))}
