"""Soundness: expressions with one normal form have one value, on random operands."""

from __future__ import annotations

import random
from collections import defaultdict

from allo.equivalence import integers
from allo.equivalence.normal import Forms
from allo.equivalence.terms import Term, Terms, width_of

_BINARY = ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxui", "shli", "divui")
_NARROW, _WIDE = "i4", "i7"


def random_terms(terms: Terms, rng: random.Random, count: int) -> list[Term]:
    made = [terms.make(f"input x{k}", kind) for k, kind in enumerate((_NARROW, _NARROW, _WIDE))]
    for _ in range(count):
        a = rng.choice(made)
        if rng.random() < 0.25:
            if a.kind == _WIDE:
                made.append(terms.make("arith.trunci :i7", _NARROW, (a,)))
            else:
                op = rng.choice(("extsi", "extui"))
                made.append(terms.make(f"arith.{op} :i4", _WIDE, (a,)))
            continue
        b = rng.choice([t for t in made if t.kind == a.kind] + [rng.randrange(8)])
        if rng.random() < 0.1:
            condition = terms.make(f"arith.cmpi 2:{a.kind}", "i1", (a, b))
            made.append(terms.make("arith.select", a.kind, (condition, b, a)))
            continue
        op = rng.choice(_BINARY)
        label = f"arith.{op}" if op != "divui" else f"arith.divui :{a.kind},{a.kind}"
        made.append(terms.make(label, a.kind, (a, b)))
    return made


def value_of(term, inputs: dict[str, int], known: dict[int, int]) -> int:
    if isinstance(term, int):
        return term
    if term.number not in known:
        known[term.number] = computed(term, inputs, known)
    return known[term.number]


def computed(term: Term, inputs: dict[str, int], known: dict[int, int]) -> int:
    if term.op.startswith("input "):
        return inputs[term.op]
    args = [value_of(a, inputs, known) for a in term.args]
    name = term.op.split(" ")[0].removeprefix("arith.")
    bits = width_of(term.kind)
    if name == "select":
        return args[1] if args[0] else args[2]
    source = width_of(term.args[0].kind)
    if name == "cmpi":
        return integers.compare(2, source)(*args)
    if len(args) == 1:
        return integers.unary(name, source, bits, False)(args[0])
    return integers.binary(name, bits, False)(*args)


def test_terms_of_one_form_have_one_value():
    rng = random.Random(5)
    merged = 0
    for _ in range(60):
        terms, forms = Terms(), Forms()
        made = random_terms(terms, rng, 60)
        groups = defaultdict(set)
        for term in made:
            groups[term.kind, forms.form(term, width_of(term.kind))].add(term)
        merged += sum(len(g) - 1 for g in groups.values())
        for _ in range(8):
            inputs = {f"input x{k}": rng.randrange(16 if k < 2 else 128) for k in range(3)}
            known: dict[int, int] = {}
            for group in groups.values():
                assert len({value_of(t, inputs, known) for t in group}) == 1
    assert merged > 200


def test_sums_and_products_meet_in_any_order():
    terms, forms = Terms(), Forms()
    a, b, c = (terms.make(f"input {n}", "i32") for n in "abc")

    def add(x, y):
        return terms.make("arith.addi", "i32", (x, y))

    def mul(x, y):
        return terms.make("arith.muli", "i32", (x, y))

    assert forms.same(add(add(a, b), c), add(a, add(c, b)), "i32")
    assert forms.same(mul(mul(a, b), c), mul(b, mul(c, a)), "i32")
    assert forms.same(add(a, add(a, a)), mul(a, 3), "i32")
    assert not forms.same(add(a, b), add(a, c), "i32")
    assert not forms.same(mul(a, a), mul(a, b), "i32")
    wide = terms.make("arith.extsi :i32", "i65", (add(a, b),))
    other = terms.make(
        "arith.addi", "i65", tuple(terms.make("arith.extsi :i32", "i65", (x,)) for x in (a, b))
    )
    assert not forms.same(wide, other, "i65")


def test_float_sums_keep_their_order_unless_told():
    terms = Terms()
    a, b, c = (terms.make(f"input {n}", "f32") for n in "abc")

    def add(x, y):
        return terms.make("arith.addf", "f32", (x, y))

    one, other = add(add(a, b), c), add(a, add(b, c))
    assert not Forms().same(one, other, "f32")
    assert Forms(reassociate=True).same(one, other, "f32")
    assert not Forms(reassociate=True).same(one, add(a, b), "f32")
