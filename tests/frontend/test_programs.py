"""Random programs with loops, branches and early exits: the CPU build against Python itself.

A program is written twice from one choice of statements: as a kernel, and as plain Python whose
assignments wrap to 32 bits. Values grow exactly inside an expression, so the two must agree.
"""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import allo
from allo.dialects.verify import verify
from allo.ir.types import int32

SIZE = 8
COMPARE = ("<", "<=", ">", ">=", "==", "!=")


def wrap(value):
    return (int(value) + (1 << 31)) % (1 << 32) - (1 << 31)


class Writer:
    """Writes a kernel and its model side by side."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.kernel = ["def kernel(A: int32[8], B: int32[8], n: int32) -> int32:"]
        self.model = ["def model(A, B, n):"]
        self.scalars = ["n"]
        self.iterators = []
        self.counter = 0
        self.budget = 22

    def line(self, depth, kernel, model=None):
        self.kernel.append("    " * depth + kernel)
        self.model.append("    " * depth + (kernel if model is None else model))

    def fresh(self, stem):
        self.counter += 1
        return f"{stem}{self.counter}"

    def atom(self):
        choices = [str(self.rng.randint(-9, 9)), self.rng.choice(self.scalars), self.element()]
        if self.iterators:
            choices += [self.rng.choice(self.iterators)] * 2
        return self.rng.choice(choices)

    def element(self):
        return f"{self.rng.choice('AB')}[{self.index()}]"

    def index(self):
        if self.iterators and self.rng.random() < 0.6:
            it = self.rng.choice(self.iterators)
            return self.rng.choice((it, f"({it} * 3 + 1) % 8", f"{it} // 2", f"({it} + n) & 7"))
        return self.rng.choice(
            (str(self.rng.randrange(SIZE)), f"{self.rng.choice(self.scalars)} & 7")
        )

    def expression(self, depth=2):
        if depth == 0:
            return self.atom()
        left, right = self.expression(depth - 1), self.expression(self.rng.randrange(depth))
        choice = self.rng.random()
        if choice < 0.6:
            return f"({left} {self.rng.choice('+-*&|^')} {right})"
        if choice < 0.75:
            return f"{self.rng.choice(('min', 'max'))}({left}, {right})"
        if choice < 0.9:
            return f"({left} if {self.condition()} else {right})"
        return f"(-{left})"

    def condition(self):
        left, right = self.atom(), self.atom()
        text = f"{left} {self.rng.choice(COMPARE)} {right}"
        if self.rng.random() < 0.3:
            text = f"({text} {self.rng.choice(('and', 'or'))} {self.atom()} > {self.atom()})"
        return f"not ({text})" if self.rng.random() < 0.1 else text

    def block(self, depth, in_loop):
        scalars = list(self.scalars)
        for _ in range(self.rng.randint(1, 4)):
            self.statement(depth, in_loop)
        self.scalars = scalars

    def statement(self, depth, in_loop):
        self.budget -= 1
        choices = ["assign", "element", "augment"]
        if depth < 5 and self.budget > 0:
            choices += ["for", "if", "while"]
        if in_loop:
            choices.append("leave")
        if depth > 1:
            choices.append("return")
        getattr(self, "make_" + self.rng.choice(choices))(depth, in_loop)

    def make_assign(self, depth, in_loop):
        name, value = self.fresh("v"), self.expression()
        self.line(depth, f"{name}: int32 = {value}", f"{name} = wrap({value})")
        self.scalars.append(name)

    def make_element(self, depth, in_loop):
        target, value = self.element(), self.expression()
        self.line(depth, f"{target} = {value}", f"{target} = wrap({value})")

    def make_augment(self, depth, in_loop):
        names = [s for s in self.scalars if s != "n"]
        target = self.rng.choice(names) if names else self.element()
        op, value = self.rng.choice("+-*^"), self.expression(1)
        self.line(depth, f"{target} {op}= {value}", f"{target} = wrap({target} {op} {value})")

    def make_for(self, depth, in_loop):
        it = self.fresh("i")
        bounds = ["8", "2, 7", "0, 8, 3", "7, -1, -1", "6, 0, -2"]
        if self.iterators:
            outer = self.rng.choice(self.iterators)
            bounds += [f"{outer}, 8", f"max(0, {outer} - 2), min(8, {outer} + 3)"]
        bounds.append(f"{self.rng.choice(self.scalars)} & 7")
        self.line(depth, f"for {it} in range({self.rng.choice(bounds)}):")
        self.iterators.append(it)
        self.block(depth + 1, True)
        self.iterators.pop()

    def make_while(self, depth, in_loop):
        name = self.fresh("w")
        self.line(depth, f"{name}: int32 = 0", f"{name} = 0")
        self.line(depth, f"while {name} < 3 and {self.condition()}:")
        self.line(depth + 1, f"{name} += 1")
        self.block(depth + 1, True)

    def make_if(self, depth, in_loop):
        self.line(depth, f"if {self.condition()}:")
        self.block(depth + 1, in_loop)
        if self.rng.random() < 0.4:
            self.line(depth, f"elif {self.condition()}:")
            self.block(depth + 1, in_loop)
        if self.rng.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1, in_loop)

    def make_leave(self, depth, in_loop):
        self.line(depth, f"if {self.condition()}:")
        self.line(depth + 1, self.rng.choice(("break", "continue")))

    def make_return(self, depth, in_loop):
        value = self.expression(1)
        self.line(depth, f"if {self.condition()}:")
        self.line(depth + 1, f"return {value}", f"return wrap({value})")

    def program(self):
        for _ in range(4):
            self.statement(1, False)
        value = self.expression(1)
        self.line(1, f"return {value}", f"return wrap({value})")
        return "\n".join(self.kernel) + "\n", "\n".join(self.model) + "\n"


def agree(seed):
    kernel_text, model_text = Writer(seed).program()
    space = {"wrap": wrap}
    exec(model_text, space)
    schedule = allo.customize(kernel_text, global_vars={"int32": int32})
    verify(schedule.module, top="kernel", places=True)
    module = schedule.build()
    rng = np.random.default_rng(seed)
    for n in (0, 5, -3):
        a, b = (rng.integers(-20, 20, SIZE).astype(np.int32) for _ in "AB")
        model_a, model_b = a.tolist(), b.tolist()
        expected = space["model"](model_a, model_b, n)
        got = module(a, b, n)
        assert (got, a.tolist(), b.tolist()) == (expected, model_a, model_b), kernel_text


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_random_programs(seed):
    agree(seed)
