"""What decides the order and the number of stream operations: nodes, arrays and words, module by module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ...compiled import CompiledModule
from ...graph.nodes import Array, Node, Stream
from ...graph.prune import bodies_of, regions_of
from ...graph.regions import Call, If, Leaf, Loop, While
from ..graph import Given
from ..sharing import raced_arrays
from ..variants import Place


@dataclass(slots=True)
class Needs:
    """What decides in one module.

    Attributes:
        nodes, arrays, streams: numbers of the nodes whose values, the arrays whose words and the streams
            whose words decide.
        args, results: positions of scalar arguments and of results that do.
        places: ports of its array parameters that others may ask for in the same cycle.
        raced: numbers of the arrays that decide, and that several processes use while one of them stores.
    """

    nodes: set[int] = field(default_factory=set)
    arrays: set[int] = field(default_factory=set)
    streams: set[int] = field(default_factory=set)
    args: set[int] = field(default_factory=set)
    results: set[int] = field(default_factory=set)
    places: set[Place] = field(default_factory=set)
    raced: set[int] = field(default_factory=set)

    @property
    def size(self) -> int:
        """How much is known to decide."""
        held = self.nodes, self.arrays, self.streams, self.args, self.results, self.raced
        return sum(map(len, held)) + len(self.places)


def find_needs(modules: Mapping[str, CompiledModule]) -> dict[str, Needs]:
    """What decides in each module, wherever its instances stand."""
    found = {name: Needs() for name in modules}
    before = -1
    while before != (before := sum(needs.size for needs in found.values())):
        for name, module in modules.items():
            if module.graph is None:
                _Function(module, found, found[name]).run()
            else:
                found[name].raced |= raced_arrays(modules, module, found[name].arrays)
                _region(module, found, found[name])
    return found


def _region(module: CompiledModule, found: Mapping[str, Needs], needs: Needs) -> None:
    assert module.graph is not None
    _share_parameters(module, needs)
    for port in module.graph.ports:
        for user in port.users if port.crowded or port.place in needs.places else ():
            found[module.graph.members[user.member].module].places.add(user.place)
    for member in module.graph.members:
        inner = found[member.module]
        _join(inner.streams, needs.streams, member.streams)
        _join_parameters(inner.arrays, needs.arrays, member.arrays)
        _join_parameters(inner.raced, needs.raced, member.arrays)
        for position, scalar in enumerate(member.scalars):
            if position in inner.args and isinstance(scalar, Given):
                needs.args.add(scalar.position)
    _share_parameters(module, needs)


def _share_parameters(module: CompiledModule, needs: Needs) -> None:
    """Let both names of an array parameter, inside and outside of its module, be known to decide."""
    for position, array in enumerate(module.function.parameters):
        names = {parameter(position), array.number}
        for numbers in (needs.arrays, needs.raced):
            if names & numbers:
                numbers |= names


def _join(inner: set[int], outer: set[int], joined: Iterable[int]) -> None:
    """Let both sides of the ports between a module and what is in it know what decides."""
    for position, number in enumerate(joined):
        if position in inner or number in outer:
            inner.add(position)
            outer.add(number)


def _join_parameters(inner: set[int], outer: set[int], joined: Iterable[int]) -> None:
    for position, number in enumerate(joined):
        key = parameter(position)
        if key in inner or number in outer:
            inner.add(key)
            outer.add(number)


def parameter(position: int) -> int:
    """The number under which an array parameter is known outside of its module."""
    return ~position


class _Function:
    """What decides in one function."""

    def __init__(self, module: CompiledModule, found: Mapping[str, Needs], needs: Needs) -> None:
        self._module = module
        self._found = found
        self._needs = needs
        self._root = module.function.root
        self._stack: list[Node] = []

    def run(self) -> None:
        """Find it, given what is known of other modules."""
        function, needs = self._module.function, self._needs
        _share_parameters(self._module, needs)
        self._stack = list(self._seeds())
        for position, value in enumerate(function.returned):
            if position in needs.results and isinstance(value, Node):
                self._stack.append(value)
        for region in regions_of(self._root):
            if isinstance(region, Call):
                self._call(region)
        size = -1
        while self._stack or size != needs.size:
            size = needs.size
            self._spread()
            self._guesses()
            for body in bodies_of(self._root):
                for node in body.nodes:
                    self._effect(node)
        _share_parameters(self._module, needs)
        for position, node in enumerate(function.scalar_args):
            if node.number in needs.nodes:
                needs.args.add(position)

    def _guesses(self) -> None:
        """What the last iteration of a loop leaves in registers that decide."""
        for region in regions_of(self._root):
            if isinstance(region, Leaf) and region.exit is not None:
                for guess in region.exit.guesses:
                    access = guess.store.access
                    if access is not None and access.array.number in self._needs.arrays:
                        self._place(guess.store)
                        self._want((guess.final,))

    def _seeds(self) -> Iterator[Node]:
        for region in regions_of(self._root):
            match region:
                case If() | While():
                    yield region.condition
                case Loop():
                    yield from region.level.bounds
                    if region.guard is not None:
                        yield region.guard
                case Leaf():
                    for level in region.levels:
                        yield from level.bounds
                    if region.exit is not None:
                        yield region.exit.node
        for body in bodies_of(self._root):
            for node in body.nodes:
                if node.stream is not None and node.predicate is not None:
                    yield node.predicate
                if places_of(node, self._module, self._needs):
                    yield from asking(node)

    def _spread(self) -> None:
        needs = self._needs
        while self._stack:
            node = self._stack.pop()
            if node.number in needs.nodes:
                continue
            needs.nodes.add(node.number)
            self._stack += node.operands
            if node.access is not None:
                self._place(node)
                needs.arrays.add(node.access.array.number)
            if node.stream is not None and node.waits and node.kind == "get":
                needs.streams.add(node.stream.number)
            needs.streams |= {
                o.stream.number
                for o in node.operands
                if o.stream is not None and o.data == "try_get" and not _tells(node, o.stream)
            }
            if node.kind == "result":
                self._result(node)

    def _place(self, node: Node) -> None:
        access = node.access
        assert access is not None
        self._want((access.word_node, access.bank_node))

    def _want(self, nodes: Iterable[Node | None]) -> None:
        known = self._needs.nodes
        self._stack += [n for n in nodes if n is not None and n.number not in known]

    def _effect(self, node: Node) -> None:
        """A store into an array that decides, a word put into a stream that does."""
        needs, access = self._needs, node.access
        if node.kind == "store" and access is not None and access.array.number in needs.arrays:
            self._place(node)
            self._want((access.data, access.predicate))
        if node.kind == "put" and node.stream is not None and node.stream.number in needs.streams:
            self._want(node.operands)

    def _call(self, call: Call) -> None:
        inner = self._found[self._module.callees[call.callee]]
        needs = self._needs
        _join(inner.streams, needs.streams, [stream.number for stream in call.streams])
        numbers = [array.number for array in call.arrays]
        _join_parameters(inner.arrays, needs.arrays, numbers)
        _join_parameters(inner.raced, needs.raced, numbers)
        self._stack += [call.scalars[position] for position in inner.args]
        for position, array in enumerate(call.arrays):
            own = _position(array, self._module)
            inner.places |= {(position, *rest) for at, *rest in needs.places if at == own}
        for position, node in enumerate(call.results):
            if node.number in needs.nodes:
                inner.results.add(position)

    def _result(self, node: Node) -> None:
        for region in regions_of(self._root):
            if isinstance(region, Call) and node in region.results:
                inner = self._found[self._module.callees[region.callee]]
                inner.results.add(region.results.index(node))


def _tells(node: Node, stream: Stream) -> bool:
    """Whether a node tells only that there was a word, of what has been got without waiting."""
    return node.kind == "wire" and node.data[0] == "slice" and node.data[1] >= stream.width


def _position(array: Array, module: CompiledModule) -> int:
    """Which parameter of a function an array is, -1 for none."""
    parameters = [a.number for a in module.function.parameters]
    return parameters.index(array.number) if array.number in parameters else -1


def is_raced(node: Node, needs: Needs) -> bool:
    """Whether an access meets those of other processes, so that its cycle decides."""
    access = node.access
    if access is None or access.array.number not in needs.raced:
        return False
    return node.kind == "store" or (node.kind == "load" and node.number in needs.nodes)


def mark_of(node: Node) -> Place:
    """The place that stands for the cycle of an access."""
    return -1, node.number, 0


def places_of(node: Node, module: CompiledModule, needs: Needs) -> list[tuple[int, Place]]:
    """The ports that an access may ask for, of those that others may, each with its bank's place among the
    banks; -1 with the mark of an access whose cycle decides."""
    access, places = node.access, needs.places
    if not (places or needs.raced) or access is None or node.kind not in ("load", "store"):
        return []
    marks = [(-1, mark_of(node))] if is_raced(node, needs) else []
    position = _position(access.array, module)
    asked = [
        (n, (position, bank, access.ports.get(bank, -1))) for n, bank in enumerate(access.banks())
    ]
    return marks + [(number, place) for number, place in asked if place in places]


def asking(node: Node) -> list[Node]:
    """What decides whether an access asks for its port."""
    access = node.access
    assert access is not None
    gate = access.gate if access.gated else None
    wanted = (access.predicate if node.kind == "store" else None, gate, access.bank_node)
    return [n for n in wanted if n is not None]


def deciding_inputs(module: CompiledModule, needs: Needs) -> list[str]:
    """Arguments of a module that decide, by their names: arrays, scalars, words of streams."""
    function = module.function
    names = [a.name for n, a in enumerate(function.parameters) if _is_read(a, n, needs)]
    if module.graph is None:
        names += [node.label for n, node in enumerate(function.scalar_args) if n in needs.args]
    elif needs.args:
        names += [f"scalar argument {n + 1}" for n in sorted(needs.args)]
    names += [
        stream.name
        for stream in function.streams
        if stream.number in needs.streams and stream.direction == "get"
    ]
    return names


def _is_read(array: Array, position: int, needs: Needs) -> bool:
    return parameter(position) in needs.arrays or array.number in needs.arrays
