"""Who uses the masters of a wrapper: the engines of its arrays, by themselves or behind an arbiter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...emit.builder import ModuleBuilder
from ..board import Board, Buffered, Master
from ..parts import Made, put_instance
from .arbiter import read_arbiter, write_arbiter

READ, WRITE = "read", "write"
_GIVEN = {
    READ: ("ARREADY", "RDATA", "RRESP", "RLAST", "RVALID"),
    WRITE: ("AWREADY", "WREADY", "BRESP", "BVALID"),
}
_TOLD = {
    READ: ("ARADDR", "ARLEN", "ARVALID", "RREADY"),
    WRITE: ("AWADDR", "AWLEN", "AWVALID", "WDATA", "WSTRB", "WLAST", "WVALID", "BREADY"),
}
_OWN = {READ: ("ARREADY", "RVALID"), WRITE: ("AWREADY", "WREADY", "BVALID")}
"""What an arbiter gives to each engine; the rest goes to all of them."""


def engine_of(array: Buffered) -> str:
    """The engine that serves an array: its own beside the core; arrays that are copied share theirs."""
    return array.name if array.beside is not None else "+".join(array.bundles)


class Clients:
    """The ways between engines and masters, in the text of a shell.

    Attributes:
        values: outputs of the wrapper, by port; complete after :meth:`finish`.
    """

    def __init__(self, text: ModuleBuilder, board: Board, made: Made) -> None:
        self._text, self._made = text, made
        self._masters = {m.bundle: m for m in board.masters}
        self._users: dict[tuple[str, str], list[str]] = {}
        for way, arrays in (
            (READ, [a for a in board.arrays if a.loaded]),
            (WRITE, [a for a in board.arrays if a.stored]),
        ):
            for array in arrays:
                for bundle in array.bundles:
                    users = self._users.setdefault((bundle, way), [])
                    if engine_of(array) not in users:
                        users.append(engine_of(array))
        self._told: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
        self._names: dict[tuple[str, str, str], dict[str, str]] = {}
        self.values: dict[str, str] = {}

    def master(self, bundle: str) -> Master:
        """The master of a bundle."""
        return self._masters[bundle]

    def shared(self, bundles: Iterable[str], way: str) -> bool:
        """Whether an engine has a master with others."""
        return any(len(self._users.get((bundle, way), ())) > 1 for bundle in bundles)

    def inputs(self, bundle: str, way: str, engine: str) -> dict[str, str]:
        """What an engine is given of a master."""
        prefix = self._masters[bundle].prefix
        found = {name: f"%{prefix}_{name}" for name in _GIVEN[way]}
        if self._masters[bundle].ids and way == READ:
            found["RID"] = f"%{prefix}_RID"
        if not self.shared((bundle,), way):
            return found
        number = self._users[bundle, way].index(engine)
        own = {name: self._text.named(f"{bundle}_{way}{number}_{name}") for name in _OWN[way]}
        self._names[bundle, way, engine] = own
        return found | own

    def keep(self, bundle: str, way: str, engine: str, found: Mapping[str, str]) -> None:
        """What an engine tells the master."""
        names = [*_TOLD[way], *(["ARID"] if self._masters[bundle].ids and way == READ else [])]
        told = {name: found[name] for name in names}
        self._told.setdefault((bundle, way), {})[engine] = told

    def finish(self) -> None:
        """Join the masters, by arbiters where several engines have one."""
        for (bundle, way), engines in self._told.items():
            master = self._masters[bundle]
            if not self.shared((bundle,), way):
                (told,) = engines.values()
            else:
                found = self._arbiter(master, way, engines)
                told = {name: found[name] for name in _TOLD[way]}
            self.values |= {f"{master.prefix}_{name}": value for name, value in told.items()}

    def _arbiter(
        self, master: Master, way: str, engines: Mapping[str, Mapping[str, str]]
    ) -> dict[str, str]:
        users = self._users[master.bundle, way]
        make = read_arbiter if way == READ else write_arbiter
        module = self._made.take(make(master, len(users), self._made))
        given = {name for name, _ in module.ports.inputs}
        inputs = {name: f"%{master.prefix}_{name}" for name in _GIVEN[way] if name in given}
        for number, engine in enumerate(users):
            inputs |= {f"c{number}_{n}": v for n, v in engines[engine].items()}
        found = put_instance(self._text, f"{master.bundle}_{way}_arbiter", module, inputs)
        for number, engine in enumerate(users):
            for name, hint in self._names[master.bundle, way, engine].items():
                self._text.alias(hint, found[f"c{number}_{name}"], 1)
        return found
