"""The operations of a module as nodes, which :mod:`.fold` makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from allo.backend.devices import Cells

from ..netlist.memories import (
    ArrayCreate,
    Element,
    Read,
    Table,
    TableRead,
    Write,
)
from ..netlist.memories import Memory as MemoryOp
from ..netlist.operations import (
    BlockSum,
    Compare,
    Concat,
    Constant,
    Extract,
    Gate,
    Instance,
    Mux,
    Operation,
    Register,
    Replicate,
    Wire,
)
from .controls import bits_read
from .drawn import DrawnModule, bits_of_type, inputs_of
from .fold import Folding
from .memory import Memory
from .merging.echoes import Driven, Echoes
from .merging.given import NOTHING_AROUND, Around, Given
from .merging.kept import KeptBits, repeated
from .merging.narrow import Operands
from .merging.registers import NOTHING_KNOWN, Registers
from .merging.settled import settled_bits, with_settled
from .merging.twins import own_size, twins_of
from .nodes import (
    ONE,
    ZERO,
    Run,
    Value,
    bits_known,
    constant,
    cut,
    extended,
    is_constant,
    join,
    read_of,
    repeat,
    significant,
    width_of,
)

_BITWISE = {"comb.and": "and", "comb.or": "or", "comb.xor": "xor"}
_SHIFTS = {"comb.shl": "left", "comb.shru": "right", "comb.shrs": "right"}


class Graph(Folding):
    """The nodes of one module.

    Args:
        family: what the module is to be made of.
        inside: by module, what drives its output ports. Outputs that are one value, or known, are so
            outside of their module too, and so are words of one input behind as many registers.
        known: what is known of registers.
        around: what is known of the inputs, and which outputs are read.

    Attributes:
        merged: (registers one behind another, bits) that instances have and that are one to synthesis.
        inputs: the node of each input port.
        calls: the modules inside it with the values of their inputs, the clock left out.
        instance_outputs: by node, which of ``calls`` drives it, and by which port.
    """

    def __init__(
        self,
        module: DrawnModule,
        inside: Mapping[str, Driven],
        family: Cells,
        known: Registers = NOTHING_KNOWN,
        around: Around = NOTHING_AROUND,
    ) -> None:
        super().__init__(family)
        self._known_of, self._heard = known, around.heard
        self._ports = list(module.outputs)
        self.memories: dict[str, Memory] = {}
        self.outputs: list[Value] = []
        self.calls: list[tuple[Instance, list[Value]]] = []
        self._values: dict[str, Value] = {}
        self.inputs: dict[str, int] = {}
        self.instance_outputs: dict[int, tuple[int, str]] = {}
        self._defined = {op.result: op for op in module.ops if op.result}
        self._read_by = Counter(name for op in module.ops for name in op.operands)
        self._read_by.update(module.output_values)
        for instance in module.instances:
            self._read_by.update(inputs_of(instance).values())
        self._early: dict[str, int] = {}
        self._added: dict[str, tuple[str, Value, Value]] = {}
        self.merged: list[tuple[int, int]] = []
        self._kept: dict[tuple[object, ...], KeptBits] = {}
        self._read(module, inside, around.given)

    # --- the module --------------------------------------------------------------------

    def _read(
        self, module: DrawnModule, inside: Mapping[str, Driven], given: Mapping[str, Given]
    ) -> None:
        for port, width in module.inputs.items():
            name, drawn = port[1:], self._node("input", max(1, width))
            self._values[port] = given[name].seen(drawn) if name in given else drawn
            self.inputs[name] = drawn[0][0]
        for name, its in given.items():
            if its.same:
                self._values[f"%{name}"] = self._values[f"%{its.same}"]
        for op in module.ops:
            place = op.location.shown
            if isinstance(op, MemoryOp):
                traits = op.separate, op.style
                made = Memory(op.depth, op.width, False, op.section, place, *traits)
                self.memories[op.result] = made
            elif isinstance(op, Table):
                made = Memory(len(op.words), op.width, True, op.section, place)
                self.memories[op.result] = made
        echoes = Echoes()
        for number, instance in enumerate(module.instances):
            self._section = instance.section
            driven = inside.get(instance.module, Driven())
            same: dict[Value, Value] = {}
            for result, port, kind in instance.outputs:
                value = driven.values.get(port, ())
                if value and is_constant(value):
                    self._values[result] = value
                    continue
                heard = echoes.of(instance, driven, port)
                shown = same.get(value) or heard or self._node("input", bits_of_type(kind))
                self.instance_outputs.setdefault(shown[0][0], (number, port))
                self._values[result] = shown
                echoes.add(instance, driven, port, shown)
                if value:
                    same[value] = shown
            self.merged += echoes.merged_of(instance, driven)
        for op in module.ops:
            if isinstance(op, Register):
                self.value(op.result)
        for name, number in self._early.items():
            early = self._defined[name]
            if not isinstance(early, Register):
                continue
            data, controls, detail = self._inputs(early)
            node = self.nodes[number]
            node.operands, node.detail = (cut(data, 0, node.width), *controls), detail
        for op in module.ops:
            if isinstance(op, Write):
                memory, where, word, enable = op.operands
                written = (self.value(where), self.value(word), self.value(enable))
                self.memories[memory].writes.append(written)
        operands = Operands()
        for instance in module.instances:
            joined = {port: self.value(name) for port, name in inputs_of(instance).items()}
            self.calls.append((instance, list(joined.values())))
            driven = inside.get(instance.module, Driven())
            self.merged += operands.merged_of(driven.held, joined)
        self.outputs = [self.value(name) for name in module.output_values]

    def _inputs(self, op: Register) -> tuple[Value, list[Value], str]:
        """A register's data, what controls it, and how: ``e`` for an enable, ``r`` for a reset."""
        names = op.operands[: 1 + op.gated + op.resets]
        data, *controls = (self.value(name) for name in names)
        gated = op.gated
        if gated and self._family.merges and controls[0][0][0] == ONE:
            gated, controls = False, controls[1:]
        return data, controls, "e" * gated + "r" * op.resets

    def _register(self, op: Register) -> Value:
        """A register whose data is known; bits that extend it are one."""
        data, controls, detail = self._inputs(op)
        data = join(with_settled(data, self._known_of.settled.get(op.result, {})))
        never = detail.endswith("r") or self._family.merges
        if never and all(node == ZERO for node, _, _ in data):
            return data
        width, signed = significant(data)
        kept = self._kept.setdefault((*controls, detail), KeptBits())
        held: list[Value] = []
        known_bits = (ZERO,) if detail.endswith("r") else (ZERO, ONE)
        for part in self._parts(cut(data, 0, width), known_bits):
            for piece, count in repeated(part):
                for bits, known in (
                    [(piece, piece)] if piece[0][0] in known_bits else kept.split(piece)
                ):
                    if known is None:
                        known = self._node("register", width_of(bits), (bits, *controls), detail)
                        kept.add(bits, known)
                    held.append(repeat(known, count) if count > 1 else known)
        return extended(join(held), op.width, signed=signed)

    def roots(self) -> list[Value]:
        """What is read from outside of the graph: by outputs, modules inside, and memories."""
        values = [
            part
            for port, value in zip(self._ports, self.outputs, strict=False)
            for part in read_of(value, self._heard.get(port))
        ]
        for _, joined in self.calls:
            values += joined
        for memory in self.memories.values():
            for written in memory.writes:
                values += written
            values += [address for address, _ in memory.reads]
        return values

    def found(self) -> Registers:
        """What the graph shows of registers that was not known before."""
        settled = self._newly_settled() if self._family.controls_join else {}
        return Registers(settled, self._new_twins(), self._new_sizes())

    def _newly_settled(self) -> dict[str, dict[int, int]]:
        """The registers of which bits are known that were not known before."""
        found = {}
        read = bits_read(self.nodes, self.roots())

        def alone(number: int) -> bool:
            node = self.nodes[number]
            return node.kind != "logic" or read.get(number, 0) <= node.width

        for name, op in self._defined.items():
            if not isinstance(op, Register) or name in self._known_of.twins:
                continue
            data, _, detail = self._inputs(op)
            resets = detail.endswith("r")
            bits = settled_bits(self.nodes, self._values[name], data, resets=resets, alone=alone)
            if bits:
                found[name] = bits
        return found

    def _new_twins(self) -> dict[str, str]:
        """The registers that hold what one on the way round holds, and that was not known before."""
        if not self._early:
            return {}
        registers = []
        for name in dict.fromkeys([*self._early, *self._defined]):
            op = self._defined[name]
            if isinstance(op, Register) and name not in self._known_of.twins:
                data, controls, detail = self._inputs(op)
                registers.append((name, self._values[name], (data, *controls, detail)))
        return {name: of for name, of in twins_of(registers).items() if of in self._early}

    def _new_sizes(self) -> dict[str, int]:
        """The registers on the way round whose upper bits are all one, and that was not known before."""
        sizes = {}
        for name in self._early:
            op = self._defined[name]
            if not isinstance(op, Register) or name in self._known_of.settled:
                continue
            size = own_size(self.nodes, self._values[name], self._inputs(op)[0])
            if size < self._known_of.sizes.get(name, op.width):
                sizes[name] = size
        return sizes

    def _parts(self, data: Value, known: tuple[int, ...]) -> list[Value]:
        """A register's bits apart, as synthesis takes them: ``known``, what a reset may make, all other."""
        parts: list[list[Run]] = []
        before = ""
        for run in data:
            node = self.nodes[run[0]] if run[0] >= 0 else None
            kind = f"known {run[0]}" if run[0] in known else ""
            if node is not None and node.kind == "logic" and node.detail.startswith("gate"):
                kind = f"gate {run[0]}"
            if parts and kind == before:
                parts[-1].append(run)
            else:
                parts.append([run])
            before = kind
        return [tuple(part) for part in parts]

    # --- values ------------------------------------------------------------------------

    def value(self, name: str) -> Value:
        """The value of a name, with all that it is computed from."""
        stack, path = [name], dict[str, None]()
        while stack:
            top = stack[-1]
            if top in self._values:
                stack.pop()
                path.pop(top, None)
                continue
            op, twin = self._defined[top], self._known_of.twins.get(top)
            missing = [
                operand
                for operand in ((twin,) if twin else op.operands)
                if operand not in self._values and operand not in self.memories
            ]
            self._section, self._place = op.section, op.location.shown
            if not missing:
                self._values[top] = self._values[twin] if twin else self._compute(op)
                continue
            path[top] = None
            around = next((operand for operand in missing if operand in path), None)
            if around is not None:
                self._break(list(path), around)
                stack, path = [name], {}
                continue
            stack += missing
        return self._values[name]

    def _break(self, path: list[str], around: str) -> None:
        """Give a register on the way round to ``around`` a node before its data is known."""
        names = path[path.index(around) :]
        held = next(
            name
            for name in names
            if isinstance(self._defined[name], Register) and name not in self._known_of.twins
        )
        op = self._defined[held]
        self._section, self._place = op.section, op.location.shown
        size = self._known_of.sizes.get(held, op.width)
        node = self._node("register", size)
        self._early[held] = node[0][0]
        value = extended(node, op.width, signed=True)
        self._values[held] = join(with_settled(value, self._known_of.settled.get(held, {})))

    def _compute(self, op: Operation) -> Value:
        known = self._values
        match op:
            case Register():
                return self._register(op)
            case Read() | TableRead():
                memory = self.memories[op.operands[0]]
                found = self._node("read", memory.width, (known[op.operands[1]],))
                memory.reads.append((known[op.operands[1]], found[0][0]))
                return found
        operands = [known[name] for name in op.operands]
        match op:
            case Gate():
                return self._gate(op, operands)
            case Constant():
                return constant(op.value, op.width)
            case Concat() | ArrayCreate():
                return join(operands[::-1])
            case Extract():
                return self._looked_up(op) or cut(operands[0], op.low, op.width)
            case Replicate():
                return repeat(operands[0], op.width)
            case Mux():
                return self._shared_sum(op) or self._mux(*operands)
            case Element():
                return self._chosen(operands[0], operands[1], op.width)
            case Compare():
                return self._compare(op.kind, *operands)
            case Wire():
                return operands[0]
        return self._node("input", op.width)

    def _looked_up(self, op: Extract) -> Value:
        """Low bits of a constant that a word of few bits shifts: a table for each; none of anything else."""
        shift = self._defined.get(op.operands[0])
        if not isinstance(shift, Gate) or shift.name != "comb.shru":
            return ()
        words, place = (self._values[name] for name in shift.operands)
        read = [(n, low + k, 1) for n, low, c in place if n >= 0 and low >= 0 for k in range(c)]
        varying = sum(count for node, _, count in place if node >= 0)
        if not is_constant(words) or len(read) != varying or varying > self._family.inputs:
            return ()
        known = bits_known(words)
        return join([self._table(known >> op.low + k, place, read) for k in range(op.width)])

    def _table(self, words: int, place: Value, read: list[Run]) -> Value:
        """A table: a bit of ``words`` at a place, and zero beyond them."""
        return self._logic(f"table {words:x} {place}", 1, read, associative=False)

    def _gate(self, op: Gate, operands: list[Value]) -> Value:
        if op.name in _BITWISE:
            return self._bitwise(_BITWISE[op.name], operands)
        if op.name == "comb.add":
            return self._sum_of_terms(op)
        if op.name == "comb.sub":
            self._added[op.result] = op.name, operands[0], operands[1]
            return self._sum(op.name, op.width, operands)
        if op.name == "comb.mul":
            return self._product(op.width, *operands)
        if op.name in _SHIFTS:
            return self._shifted(op, *operands)
        return self._node("input", op.width)

    def _sum_of_terms(self, op: Operation) -> Value:
        """A sum as it stands in the text, without brackets: the first two terms, then one after another."""
        terms = [self._values[name] for name in self._terms(op)]
        if len(terms) == 2 and not isinstance(op, BlockSum):
            self._added[op.result] = "comb.add", terms[0], terms[1]
        total = terms[0]
        for term in terms[1:]:
            total = self._sum("comb.add", op.width, [total, term])
        if isinstance(op, BlockSum):
            for number, _, _ in total:
                if number >= 0 and self.nodes[number].kind == "add":
                    self.nodes[number].in_block = True
        return total

    def _shared_sum(self, op: Mux) -> Value:
        """A choice between two sums that it alone reads, as a sum of a choice; none where it is not that."""
        choice, *chosen = op.operands
        sums = [self._added[name] for name in chosen if name in self._added]
        alone = all(self._read_by[name] == 1 for name in chosen)
        if not self._family.carry_shared or not alone or len(sums) < 2 or sums[0][0] != sums[1][0]:
            return ()
        (kind, *then), (_, *other) = sums
        places = ((0, 0), (1, 1)) if kind == "comb.sub" else ((0, 0), (1, 1), (0, 1), (1, 0))
        for at, where in places:
            if then[at] == other[where]:
                chosen_word = self._mux(self._values[choice], then[1 - at], other[1 - where])
                terms = [then[at], chosen_word] if at == 0 else [chosen_word, then[at]]
                self._added[op.result] = kind, terms[0], terms[1]
                return self._sum(kind, op.width, terms)
        return ()

    def _terms(self, op: Operation) -> list[str]:
        """The terms of a sum and of the sums that it alone reads."""
        found: list[str] = []
        stack = list(op.operands[::-1])
        while stack:
            name = stack.pop()
            inner = self._defined.get(name)
            inside = isinstance(inner, Gate) and inner.name == "comb.add"
            if inner is not None and inside and self._read_by[name] == 1:
                stack += inner.operands[::-1]
            else:
                found.append(name)
        return found

    def _shifted(self, op: Gate, moved: Value, amount: Value) -> Value:
        if is_constant(moved) and not any(node == ONE for node, _, _ in moved):
            return moved
        if _SHIFTS[op.name] == "left" and significant(moved) == (1, False):
            return self._one_bit_moved(op.width, moved, amount)
        return self._shift(op, moved, amount)

    def _shift(self, op: Gate, moved: Value, amount: Value) -> Value:
        way = _SHIFTS[op.name]
        size, signed = significant(moved)
        if way == "left" or size >= op.width or signed and op.name != "comb.shrs":
            return self._once("shift", op.width, (moved, amount), way)
        kept = self._once("shift", size, (cut(moved, 0, size), amount), way)
        return extended(kept, op.width, signed=signed)
