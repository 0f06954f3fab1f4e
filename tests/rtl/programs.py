"""Random programs of the core IR, without undefined behaviour."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

WIDTHS = (1, 3, 7, 8, 12, 16, 24, 32, 33, 48, 64, 70)
BINARY = ("addi", "subi", "muli", "andi", "ori", "xori")
EXTREMES = ("minsi", "maxsi", "minui", "maxui")
DIVISIONS = ("divui", "remui", "divsi", "remsi", "floordivsi")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


@dataclass(frozen=True)
class Memory:
    """An array or scalar (shape ``()``) in scope."""

    name: str
    element: str
    shape: tuple[int, ...]
    kind: str


@dataclass(frozen=True)
class Iterator:
    """A loop iterator in scope, with its range."""

    name: str
    low: int
    high: int
    affine: bool = True


@dataclass
class Scope:
    """What a statement may use."""

    memories: list[Memory]
    iterators: list[Iterator] = field(default_factory=list)
    scalars: list[tuple[str, str]] = field(default_factory=list)

    @property
    def affine(self) -> list[Iterator]:
        """Iterators that affine maps may use."""
        return [i for i in self.iterators if i.affine]


class Program:
    """Writes one random module; ``text`` is its core IR and ``top`` its function."""

    top = "f"

    def __init__(self, seed: int, *, floats: bool = True, whiles: bool = True) -> None:
        self._r = random.Random(seed)
        self._floats = floats
        self._whiles = whiles
        self._count = 0
        self._lines: list[str] = []
        self._depth = 1
        self._budget = self._r.randint(3, 9)
        self.text = self._module()

    # --- text -----------------------------------------------------------------

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _line(self, text: str) -> None:
        place = f'loc("random.py":{len(self._lines) + 1}:{self._depth * 2})'
        tail = f" {place}" if not text.endswith(("{", "}")) else ""
        self._lines.append("  " * self._depth + text + tail)

    def _module(self) -> str:
        element = self._element(64)
        callee = self._callee(element)
        scope = Scope([], [], [])
        args, names, types, letters = [], [], [], ""
        for position in range(self._r.randint(2, 3)):
            memory = self._memory(f"%A{position}", element if position == 0 else self._element(64))
            scope.memories.append(memory)
            args.append(f"{memory.name}: {memory.kind}")
            names.append(f'"A{position}"')
            types.append(f'"{memory.element}"')
            letters += "s"
        for position in range(self._r.randint(0, 2)):
            kind = f"i{self._r.choice(WIDTHS[:-1])}"
            scope.scalars.append((f"%s{position}", kind))
            args.append(f"%s{position}: {kind}")
            names.append(f'"s{position}"')
            types.append(f'"{kind}"')
            letters += "s"
        for position in range(self._r.randint(1, 3)):
            self._local(scope, f"%L{position}")
        self._statements(scope, self._budget)
        if callee and self._r.random() < 0.7:
            self._call(scope, element)
            self._statements(scope, 1)
        result = next((m for m in scope.memories if not m.shape and m.element != "i70"), None)
        returned, res = "", ""
        if result is not None:
            value = self._fresh()
            self._line(f"{value} = affine.load {result.name}[] : {result.kind}")
            self._lines.append(f"  return {value} : {result.element}")
            returned, res = f" -> {result.element}", f'"{result.element}"'
        else:
            self._lines.append("  return")
        attributes = (
            f"arg_names = [{', '.join(names)}], arg_types = [{', '.join(types)}], "
            f'itypes = "{letters}", otypes = "{"s" if res else ""}", res_types = [{res}]'
        )
        head = f"func.func @f({', '.join(args)}){returned} attributes {{{attributes}}} {{"
        return "\n".join(["module {", *callee, head, *self._lines, "}", "}"])

    def _callee(self, element: str) -> list[str]:
        if self._r.random() < 0.5:
            return []
        scope = Scope([Memory("%A0", element, (4,), f"memref<4x{element}>")])
        self._statements(scope, 2)
        lines, self._lines = self._lines, []
        attributes = (
            f'arg_names = ["A0"], arg_types = ["{element}"], itypes = "s", otypes = "", '
            "res_types = []"
        )
        kind = scope.memories[0].kind
        return [
            f"func.func @g(%A0: {kind}) attributes {{{attributes}}} {{",
            *lines,
            "  return",
            "}",
        ]

    def _call(self, scope: Scope, element: str) -> None:
        kind = f"memref<4x{element}>"
        target = Memory("%called", element, (4,), kind)
        self._line(f'%called = memref.alloc() {{name = "called"}} : {kind}')
        self._fill(target)
        scope.memories.append(target)
        for _ in range(self._r.randint(1, 2)):
            self._statements(scope, 1)
            self._line(f"func.call @g(%called) : ({kind}) -> ()")

    # --- declarations -----------------------------------------------------------

    def _element(self, most: int = 512) -> str:
        if self._floats and self._r.random() < 0.25:
            return self._r.choice(("f32", "f32", "f64"))
        return f"i{self._r.choice([w for w in WIDTHS if w <= most])}"

    def _memory(self, name: str, element: str) -> Memory:
        shape = tuple(self._r.randint(1, 7) for _ in range(self._r.randint(1, 2)))
        layout = self._layout(shape) if self._r.random() < 0.5 else ""
        extents = "x".join(str(n) for n in shape)
        return Memory(name, element, shape, f"memref<{extents}x{element}{layout}>")

    def _layout(self, shape: tuple[int, ...]) -> str:
        dims = [f"d{i}" for i in range(len(shape))]
        banks, words = [], []
        for dim, extent in zip(dims, shape, strict=True):
            how = self._r.choice(("none", "complete", "cyclic", "block"))
            factor = self._r.randint(1, extent)
            if how == "complete":
                banks.append(dim)
                words.append("0")
            elif how == "cyclic" and factor > 1:
                banks.append(f"{dim} mod {factor}")
                words.append(f"{dim} floordiv {factor}")
            elif how == "block" and 1 < -(-extent // factor) < extent:
                chunk = -(-extent // factor)
                banks.append(f"{dim} floordiv {chunk}")
                words.append(f"{dim} mod {chunk}")
            else:
                banks.append("0")
                words.append(dim)
        if all(b == "0" for b in banks):
            return ""
        return f", affine_map<({', '.join(dims)}) -> ({', '.join(banks + words)})>"

    def _local(self, scope: Scope, name: str) -> None:
        if self._r.random() < 0.5:
            element = self._element()
            memory = Memory(name, element, (), f"memref<{element}>")
        else:
            memory = self._memory(name, self._element())
        self._line(f'{name} = memref.alloc() {{name = "{name[1:]}"}} : {memory.kind}')
        self._fill(memory)
        scope.memories.append(memory)

    def _fill(self, memory: Memory) -> None:
        value = self._constant(memory.element)
        if not memory.shape:
            self._line(f"affine.store {value}, {memory.name}[] : {memory.kind}")
            return
        self._line(
            f"linalg.fill ins({value} : {memory.element}) outs({memory.name} : {memory.kind})"
        )

    # --- statements ---------------------------------------------------------------

    def _statements(self, scope: Scope, count: int, *, inner: bool = False) -> None:
        for _ in range(count):
            if len(self._lines) > 150:
                self._store(scope)
                return
            roll = self._r.random()
            if self._depth > 4 or roll < 0.45:
                self._store(scope)
            elif roll < 0.6:
                self._if(scope, inner)
            elif roll < 0.66 and self._whiles and not inner:
                self._while(scope)
            else:
                self._for(scope, inner)

    def _block(self, scope: Scope, iterator: Iterator | None, inner: bool) -> None:
        self._depth += 1
        iterators = [*scope.iterators, iterator] if iterator else scope.iterators
        local = Scope(list(scope.memories), list(iterators), list(scope.scalars))
        if self._r.random() < 0.2:
            self._local_scalar(local)
        self._statements(local, self._r.randint(1, 2), inner=inner)
        self._depth -= 1

    def _local_scalar(self, scope: Scope) -> None:
        element = self._element()
        name = self._fresh()
        memory = Memory(name, element, (), f"memref<{element}>")
        self._line(f'{name} = memref.alloc() {{name = "t{name[2:]}"}} : {memory.kind}')
        value = self._value(scope, element, 1)
        self._line(f"affine.store {value}, {name}[] : {memory.kind}")
        scope.memories.append(memory)

    def _store(self, scope: Scope) -> None:
        memory = self._r.choice(scope.memories)
        value = self._value(scope, memory.element, self._r.randint(1, 3))
        where, affine = self._index(scope, memory)
        self._line(f"{affine}.store {value}, {memory.name}[{where}] : {memory.kind}")

    def _if(self, scope: Scope, inner: bool) -> None:
        if scope.affine and self._r.random() < 0.5:
            iterator = self._r.choice(scope.affine)
            bound = self._r.randint(iterator.low, iterator.high)
            relation = self._r.choice((f"d0 - {bound} >= 0", f"{bound} - d0 >= 0"))
            self._line(f"affine.if affine_set<(d0) : ({relation})>({iterator.name}) {{")
        else:
            condition = self._condition(scope)
            self._line(f"scf.if {condition} {{")
        self._block(scope, None, inner)
        if self._r.random() < 0.5:
            self._line("} else {")
            self._block(scope, None, inner)
        self._line("}")

    def _for(self, scope: Scope, inner: bool) -> None:
        name = f"%i{self._count}"
        self._count += 1
        pipelined = not inner and self._r.random() < 0.4
        step = self._r.choice((1, 1, 1, 2, 3))
        low = self._r.choice((0, 0, 1, 2))
        high = low + self._r.randint(0 if step > 1 else 1, 5 if not inner else 3)
        attributes = [f'loop_name = "{name[1:]}"']
        if pipelined:
            attributes.append(f"pipeline_ii = {self._r.choice((1, 1, 2))} : ui32")
        elif not inner and self._r.random() < 0.25:
            attributes.append(f"unroll = {self._r.choice((0, 2, 3))} : i32")
        lower, upper, kind = str(low), str(high), "affine"
        outer = self._r.choice(scope.affine) if scope.affine else None
        unrolled = any(a.startswith("unroll") for a in attributes) or inner
        roll = self._r.random()
        if outer and roll < 0.25 and not unrolled:
            lower, low = f"affine_map<(d0) -> (d0)>({outer.name})", outer.low
            upper = f"affine_map<(d0) -> (d0 + {high - low})>({outer.name})"
            high = outer.high + max(0, high - low) + 1
        elif roll < 0.35 and not unrolled:
            kind = "scf"
            lower, upper, by = (self._index_constant(v) for v in (low, high, step))
            if self._r.random() < 0.6:
                upper = self._dynamic_index(scope, high + 1)
        if kind == "affine":
            self._line(f"affine.for {name} = {lower} to {upper} step {step} {{")
        else:
            self._line(f"scf.for {name} = {lower} to {upper} step {by} {{")
        self._block(
            scope, Iterator(name, low, max(low, high - 1), kind == "affine"), inner or pipelined
        )
        self._lines.append("  " * self._depth + f"}} {{{', '.join(attributes)}}}")

    def _while(self, scope: Scope) -> None:
        counter = self._fresh()
        self._line(f'{counter} = memref.alloc() {{name = "n{counter[2:]}"}} : memref<i8>')
        zero = self._constant("i8", 0)
        self._line(f"affine.store {zero}, {counter}[] : memref<i8>")
        self._line("scf.while : () -> () {")
        self._depth += 1
        value, limit, test = (
            self._fresh(),
            self._constant("i8", self._r.randint(0, 4)),
            self._fresh(),
        )
        self._line(f"{value} = affine.load {counter}[] : memref<i8>")
        self._line(f"{test} = arith.cmpi slt, {value}, {limit} : i8")
        self._line(f"scf.condition({test})")
        self._depth -= 1
        self._line("} do {")
        self._block(scope, None, False)
        self._depth += 1
        value, one, total = self._fresh(), self._constant("i8", 1), self._fresh()
        self._line(f"{value} = affine.load {counter}[] : memref<i8>")
        self._line(f"{total} = arith.addi {value}, {one} : i8")
        self._line(f"affine.store {total}, {counter}[] : memref<i8>")
        self._line("scf.yield")
        self._depth -= 1
        self._line("}")

    # --- subscripts -----------------------------------------------------------------

    def _index(self, scope: Scope, memory: Memory) -> tuple[str, str]:
        """Subscripts, and the dialect of the access."""
        if memory.shape and self._r.random() < 0.2:
            return ", ".join(self._dynamic_index(scope, n) for n in memory.shape), "memref"
        return ", ".join(self._subscript(scope, n) for n in memory.shape), "affine"

    def _subscript(self, scope: Scope, extent: int) -> str:
        fitting = [i for i in scope.affine if i.high < extent]
        if fitting and self._r.random() < 0.7:
            chosen = self._r.choice(fitting)
            room = extent - 1 - chosen.high
            shift = self._r.randint(-chosen.low, room) if self._r.random() < 0.3 else 0
            return f"{chosen.name} + {shift}" if shift else chosen.name
        if scope.affine and self._r.random() < 0.6:
            chosen = self._r.choice(scope.affine)
            factor, shift = self._r.randint(1, 3), self._r.randint(0, 3)
            return f"({chosen.name} * {factor} + {shift}) mod {extent}"
        return str(self._r.randrange(extent))

    def _dynamic_index(self, scope: Scope, extent: int) -> str:
        value = self._value(scope, "i8", 1)
        limit, rest, result = self._constant("i8", extent), self._fresh(), self._fresh()
        self._line(f"{rest} = arith.remui {value}, {limit} : i8")
        self._line(f"{result} = arith.index_castui {rest} : i8 to index")
        return result

    def _index_constant(self, value: int) -> str:
        name = self._fresh()
        self._line(f"{name} = arith.constant {value} : index")
        return name

    # --- values -----------------------------------------------------------------------

    def _constant(self, kind: str, value: int | None = None) -> str:
        name = self._fresh()
        if kind.startswith("f"):
            number = self._r.choice(("0.0", "1.0", "-2.5", "0.125", "3.0e-39", "1.0e30"))
            self._line(f"{name} = arith.constant {number} : {kind}")
            return name
        width = int(kind[1:])
        if value is None:
            value = self._r.randint(-(1 << (width - 1)), (1 << (width - 1)) - 1)
        text = ("true" if value & 1 else "false") if width == 1 else f"{value} : {kind}"
        self._line(f"{name} = arith.constant {text}")
        return name

    def _condition(self, scope: Scope) -> str:
        kind = self._element()
        a, b, name = self._value(scope, kind, 1), self._value(scope, kind, 1), self._fresh()
        if kind.startswith("f"):
            predicate = self._r.choice(("olt", "oge", "une", "oeq", "ult"))
            self._line(f"{name} = arith.cmpf {predicate}, {a}, {b} : {kind}")
        else:
            self._line(f"{name} = arith.cmpi {self._r.choice(PREDICATES)}, {a}, {b} : {kind}")
        return name

    def _value(self, scope: Scope, kind: str, depth: int) -> str:
        if depth <= 0 or self._r.random() < 0.2:
            return self._leaf(scope, kind)
        if kind.startswith("f"):
            return self._float_value(scope, kind, depth)
        return self._integer_value(scope, kind, depth)

    def _leaf(self, scope: Scope, kind: str) -> str:
        loads = [m for m in scope.memories if m.element == kind]
        roll = self._r.random()
        if loads and roll < 0.6:
            memory = self._r.choice(loads)
            where, affine = self._index(scope, memory)
            name = self._fresh()
            self._line(f"{name} = {affine}.load {memory.name}[{where}] : {memory.kind}")
            return name
        if not kind.startswith("f"):
            if scope.iterators and roll < 0.8:
                name = self._fresh()
                chosen = self._r.choice(scope.iterators).name
                self._line(f"{name} = arith.index_cast {chosen} : index to {kind}")
                return name
            scalars = [s for s, k in scope.scalars if k == kind]
            if scalars:
                return self._r.choice(scalars)
            if scope.memories and roll < 0.95:
                return self._cast(scope, kind)
        return self._constant(kind)

    def _cast(self, scope: Scope, kind: str) -> str:
        integers = [m for m in scope.memories if m.element.startswith("i")]
        if not integers:
            return self._constant(kind)
        memory = self._r.choice(integers)
        where, affine = self._index(scope, memory)
        loaded = self._fresh()
        self._line(f"{loaded} = {affine}.load {memory.name}[{where}] : {memory.kind}")
        source, target = int(memory.element[1:]), int(kind[1:])
        if source == target:
            return loaded
        how = "trunci" if source > target else self._r.choice(("extsi", "extui"))
        name = self._fresh()
        self._line(f"{name} = arith.{how} {loaded} : {memory.element} to {kind}")
        return name

    def _float_value(self, scope: Scope, kind: str, depth: int) -> str:
        roll = self._r.random()
        name = self._fresh()
        if roll < 0.15:
            source = self._value(scope, "i12", depth - 1)
            self._line(f"{name} = arith.sitofp {source} : i12 to {kind}")
            return name
        a, b = self._value(scope, kind, depth - 1), self._value(scope, kind, depth - 1)
        if roll < 0.25:
            condition = self._condition(scope)
            self._line(f"{name} = arith.select {condition}, {a}, {b} : {kind}")
            return name
        self._line(f"{name} = arith.{self._r.choice(('addf', 'subf', 'mulf'))} {a}, {b} : {kind}")
        return name

    def _integer_value(self, scope: Scope, kind: str, depth: int) -> str:
        roll = self._r.random()
        a, b, name = self._value(scope, kind, depth - 1), None, self._fresh()
        if roll < 0.1 and kind != "i1":
            width = int(kind[1:])
            limit = self._constant(kind, min(width, (1 << (width - 1)) - 1))
            amount = self._fresh()
            b = self._value(scope, kind, 0)
            self._line(f"{amount} = arith.remui {b}, {limit} : {kind}")
            how = self._r.choice(("shli", "shrsi", "shrui"))
            self._line(f"{name} = arith.{how} {a}, {amount} : {kind}")
            return name
        if roll < 0.2 and kind not in ("i1", "i70"):
            divisor = self._constant(kind, self._r.randint(1, (1 << (int(kind[1:]) - 1)) - 1))
            self._line(f"{name} = arith.{self._r.choice(DIVISIONS)} {a}, {divisor} : {kind}")
            return name
        b = self._value(scope, kind, depth - 1)
        if roll < 0.3:
            condition = self._condition(scope)
            self._line(f"{name} = arith.select {condition}, {a}, {b} : {kind}")
        elif roll < 0.38:
            self._line(f"{name} = arith.{self._r.choice(EXTREMES)} {a}, {b} : {kind}")
        else:
            self._line(f"{name} = arith.{self._r.choice(BINARY)} {a}, {b} : {kind}")
        return name
