"""Random typed expressions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .calls import MOST_WORK, call_text, element_of_call
from .subscripts import DIVISIONS, WIDE_DIVISIONS, element, guarded_element, subscript
from .types import (
    BOOL,
    FLOAT32,
    INDEX,
    INT32,
    MAX_BITS,
    Ty,
    integer,
    random_fixed,
    random_float,
    random_integer,
    random_modes,
    result,
)
from .writer import Writer


@dataclass(frozen=True, slots=True)
class Expr:
    """Text, its type, and whether it needs no parentheses."""

    text: str
    ty: Ty
    atom: bool = False

    @property
    def inner(self) -> str:
        return self.text if self.atom else f"({self.text})"


def element_type(w: Writer) -> Ty:
    """A type for a variable, as the program's style has them."""
    choice = w.rng.random()
    if choice < w.style.floats:
        return random_float(w.rng)
    if choice < w.style.floats + w.style.fixed:
        ty = random_fixed(w.rng)
        if w.has_modes and w.rounds.random() < 0.6:
            w.use("modes")
            ty = replace(ty, modes=random_modes(w.rounds))
        return ty
    return random_integer(w.rng, wide=w.style.wide)


def expression(w: Writer, depth: int | None = None) -> Expr:
    """A random expression."""
    left = w.style.depth if depth is None else depth
    if w.composes and w.helpers and left > 0 and w.work <= MOST_WORK and w.chance(0.15):
        called = _call(w)
        if called is not None:
            return called
    if left <= 0 or w.chance(0.15):
        return atom(w)
    return _narrowed(w, _operation(w, left))


def _narrowed(w: Writer, e: Expr) -> Expr:
    """Cast down what has grown too wide to be used in a further operation."""
    if e.ty.is_float or e.ty.bits <= MAX_BITS // 2:
        return e
    if e.ty.is_fixed:
        ty = Ty(e.ty.kind, 40, min(e.ty.frac, 16))
    else:
        ty = random_integer(w.rng, wide=0.3)
    w.use("casts")
    return Expr(f"{w.cast(ty)}({e.text})", ty, True)


def _operation(w: Writer, depth: int) -> Expr:
    choice = w.rng.random()
    if choice < 0.50:
        return _binary(w, depth)
    if choice < 0.58:
        return _comparison(w, depth)
    if choice < 0.68:
        return _ternary(w, depth)
    if choice < 0.76:
        return _extreme(w, depth)
    if choice < 0.82:
        return _unary(w, depth)
    if choice < 0.88:
        return _cast(w, depth)
    if choice < 0.96:
        return _bits(w, depth)
    return _function(w, depth)


def atom(w: Writer) -> Expr:
    """A variable, an element, an iterator, a constant or a literal."""
    options = []
    if w.scope.scalars:
        options += ["scalar"] * 4
    if w.scope.arrays:
        options += ["element"] * 5
    if w.scope.loops:
        options += ["iterator"] * 2
    if w.scope.records:
        options += ["field"] * 2
    options.append("literal")
    kind = w.pick(options)
    if kind == "scalar":
        scalar = w.pick(w.scope.scalars)
        return Expr(scalar.name, scalar.ty, True)
    if kind == "element":
        array = w.pick(w.scope.arrays)
        return Expr(element(w, array), array.ty, True)
    if kind == "iterator":
        return Expr(w.pick(w.scope.loops).name, INDEX, True)
    if kind == "field":
        return field_of(w)
    return literal(w)


def _call(w: Writer) -> Expr | None:
    """A call of a helper in an operand."""
    helpers = [h for h in w.helpers if h.result is not None]
    if not helpers or w.style.affine_only:
        return None
    helper = w.pick(helpers)
    assert helper.result is not None
    text = call_text(w, helper, lambda: atom(w).text)
    if text is None:
        return None
    w.use("calls in expressions")
    if helper.shape is not None:
        text = element_of_call(w, helper, text)
    return Expr(text, helper.result, True)


def field_of(w: Writer) -> Expr:
    record = w.pick(w.scope.records)
    name, ty = w.pick(record.fields)
    place = record.name
    if record.shape is not None:
        place += f"[{', '.join(subscript(w, extent) for extent in record.shape)}]"
    return Expr(f'{place}["{name}"]', ty, True)


def literal(w: Writer) -> Expr:
    """A number: small, at the edge of a width, or any."""
    if w.chance(w.style.floats * 0.7):
        text = w.pick(("0.5", "1.25", "2.0", "0.1", "3.75", "1e3", "100.0", "-0.75", "0.0"))
        return Expr(text, FLOAT32, not text.startswith("-"))
    choice = w.rng.random()
    if choice < 0.75:
        value = w.rng.randint(-9, 17)
    elif choice < 0.9:
        bit = w.rng.randrange(2, 31)
        value = w.pick(((1 << bit), (1 << bit) - 1, -(1 << bit)))
    else:
        value = w.rng.getrandbits(w.pick((31, 31, 40, 63, 70)))
    bits = next(n for n in (32, 64, 128) if -(1 << n - 1) <= value < (1 << n - 1))
    return Expr(str(value), integer(bits, signed=True), value >= 0)


_BINARY = ("+", "+", "+", "-", "-", "*", "*", "//", "/", "%", "<<", ">>", "&", "|", "^")

_DIVISORS = ("2", "4", "8", "16", "64", "3", "5", "7", "10", "12", "(-1)", "(-2)", "(-4)", "(-3)")


def _binary(w: Writer, depth: int) -> Expr:
    a, b = expression(w, depth - 1), expression(w, w.rng.randrange(max(1, depth)))
    op = w.pick(_BINARY)
    if op in ("<<", ">>"):
        return _shift(w, op, a, b)
    if op in ("&", "|", "^") and not (a.ty.is_integer and b.ty.is_integer):
        op = "+"
    if (a.ty.is_float or b.ty.is_float) and (op == "//" or (op == "%" and w.chance(0.7))):
        op = "*"  # refused: no floor division of floats; a remainder takes hardware many cycles
    if op == "%" and (a.ty.is_float or b.ty.is_float):
        w.use("float remainders")
    if op in ("/", "//", "%") and not (a.ty.is_float or b.ty.is_float):
        if a.ty.is_integer and w.chance(0.5):
            b = Expr(w.pick(_DIVISORS), INT32, True)
        elif _is_slow(w, a.ty, b.ty):
            op = "-"
    ty = result(op, a.ty, b.ty)
    if ty is None or ty.bits > MAX_BITS or ty.frac > 120:
        op = "-"
        ty = result(op, a.ty, b.ty) or INT32
    return Expr(f"{a.inner} {op} {b.inner}", ty)


def _is_slow(w: Writer, a: Ty, b: Ty) -> bool:
    """Whether to leave a division out: dividers are what takes longest to build."""
    return not w.chance(DIVISIONS if max(a.bits, b.bits) <= 33 else WIDE_DIVISIONS)


def _shift(w: Writer, op: str, a: Expr, b: Expr) -> Expr:
    if a.ty.is_float:
        ty = result("+", a.ty, b.ty) or a.ty
        return Expr(f"{a.inner} + {b.inner}", ty)
    if not b.ty.is_integer or w.chance(0.6):
        amount = w.rng.randint(0, min(a.ty.bits + 2, 40))
        return Expr(f"{a.inner} {op} {amount}", a.ty)
    return Expr(f"{a.inner} {op} {b.inner}", a.ty)


COMPARE = ("<", "<=", ">", ">=", "==", "!=")


def _comparison(w: Writer, depth: int) -> Expr:
    a, b = expression(w, depth - 1), expression(w, w.rng.randrange(max(1, depth)))
    if w.chance(0.15):
        c = atom(w)
        return Expr(f"{a.inner} {w.pick(COMPARE)} {b.inner} {w.pick(COMPARE)} {c.inner}", BOOL)
    return Expr(f"{a.inner} {w.pick(COMPARE)} {b.inner}", BOOL)


def condition(w: Writer, depth: int = 1) -> str:
    """A condition of an ``if``, a ``while`` or a ternary."""
    choice = w.rng.random()
    if choice < 0.22 and depth > 0:
        joined = w.pick(("and", "or"))
        w.use("short circuits")
        return f"{_operand(condition(w, depth - 1))} {joined} {_operand(condition(w, depth - 1))}"
    if choice < 0.30 and depth > 0:
        return f"not {_operand(condition(w, depth - 1))}"
    if choice < 0.30 + 0.3 * w.style.guards and not w.style.affine_only:
        guarded = _guarded_read(w)
        if guarded:
            return f"{guarded[0]} and {guarded[1]} {w.pick(COMPARE)} {literal(w).inner}"
    if w.scope.loops and w.chance(0.35):
        v = w.pick(w.scope.loops)
        return f"{v.name} {w.pick(COMPARE)} {w.rng.randint(v.low, v.high + 1)}"
    return _comparison(w, depth).text


def _operand(text: str) -> str:
    return f"({text})"


def _guarded_read(w: Writer) -> tuple[str, str] | None:
    """A condition and a read that must not happen unless it holds."""
    signed = [s for s in w.scope.scalars if s.ty.is_integer and s.ty.bits > 2 and not s.constant]
    if not signed or not w.scope.arrays:
        return None
    w.use("guards")
    return guarded_element(w, w.pick(w.scope.arrays), w.pick(signed))


def _ternary(w: Writer, depth: int) -> Expr:
    if w.chance(w.style.guards * 0.5) and not w.style.affine_only:
        signed = [
            s for s in w.scope.scalars if s.ty.is_integer and s.ty.bits > 2 and not s.constant
        ]
        if signed and w.scope.arrays:
            w.use("guards")
            array = w.pick(w.scope.arrays)
            test, read = guarded_element(w, array, w.pick(signed))
            other = atom(w)
            ty = result("?", array.ty, other.ty)
            if ty is not None and ty.bits <= MAX_BITS:
                return Expr(f"{read} if {test} else {other.inner}", ty)
    a, b = expression(w, depth - 1), expression(w, w.rng.randrange(max(1, depth)))
    ty = result("?", a.ty, b.ty)
    if ty is None or ty.bits > MAX_BITS:
        return a
    w.use("ternaries")
    return Expr(f"{a.inner} if {condition(w, 1)} else {b.inner}", ty)


def _extreme(w: Writer, depth: int) -> Expr:
    a, b = expression(w, depth - 1), expression(w, w.rng.randrange(max(1, depth)))
    ty = result("?", a.ty, b.ty)
    if ty is None or ty.bits > MAX_BITS:
        return a
    return Expr(f"{w.pick(('min', 'max'))}({a.text}, {b.text})", ty, True)


def _unary(w: Writer, depth: int) -> Expr:
    a = expression(w, depth - 1)
    options = ["-"]
    if a.ty.is_integer and a.ty.kind != "index":
        options += ["~", "abs", "popcount"]
    elif a.ty.is_float or a.ty.is_fixed:
        options.append("abs")
    op = w.pick(options)
    ty = a.ty
    if op == "abs":
        return Expr(f"abs({a.text})", ty, True)
    if op == "popcount":
        w.use("bits")
        counted = integer(ty.bits.bit_length(), signed=False)
        return Expr(f"allo.popcount({a.text})", counted, True)
    if ty.kind == "uint":
        ty = integer(ty.bits, signed=True)
    return Expr(f"{op}{a.inner}", ty)


def _cast(w: Writer, depth: int) -> Expr:
    a = expression(w, depth - 1)
    ty = element_type(w)
    w.use("casts")
    if a.ty.is_integer and w.chance(0.15):
        return Expr(f"int({a.text})", INT32, True)
    if w.chance(0.1 * bool(w.style.floats)):
        return Expr(f"float({a.text})", FLOAT32, True)
    return Expr(f"{w.cast(ty)}({a.text})", ty, True)


def _bits(w: Writer, depth: int) -> Expr:
    """``x[k]``, ``x[lo:hi]`` or ``x.reverse()`` of a variable or an element."""
    named = [(s.name, s.ty) for s in w.scope.scalars if s.ty.kind in ("int", "uint")]
    for array in w.scope.arrays:
        if array.ty.kind in ("int", "uint"):
            named.append((element(w, array), array.ty))
    named = [(name, ty) for name, ty in named if ty.bits > 1]
    if not named:
        return _binary(w, depth)
    name, ty = w.pick(named)
    w.use("bits")
    choice = w.rng.random()
    if choice < 0.35:
        loops = [v for v in w.scope.loops if v.low >= 0 and v.high < ty.bits]
        at = w.pick(loops).name if loops and w.chance(0.5) else str(w.rng.randrange(ty.bits))
        return Expr(f"{name}[{at}]", BOOL, True)
    if choice < 0.9:
        low = w.rng.randrange(ty.bits)
        high = w.rng.randint(low + 1, ty.bits)
        return Expr(f"{name}[{low}:{high}]", integer(high - low, signed=False), True)
    return Expr(f"{name}.reverse()", ty, True)


def _function(w: Writer, depth: int) -> Expr:
    """A call of a helper that returns a scalar, or of a scalar function."""
    if w.style.math and w.chance(0.6):
        a = expression(w, depth - 1)
        name = w.pick(("sqrt", "sqrt", "exp", "tanh", "sin", "log"))
        if name != "sqrt":
            w.exact = False
        w.use("math")
        if not a.ty.is_float:
            return Expr(f"allo.{name}(float({a.text}))", FLOAT32, True)
        return Expr(f"allo.{name}({a.text})", a.ty, True)
    if w.style.floats and w.style.power and w.chance(0.2):
        a = expression(w, depth - 1)
        w.exact = False
        w.use("power")
        ty = a.ty if a.ty.bits == 64 else FLOAT32
        return Expr(f"{a.inner} ** {w.pick(('2', '3', '0.5'))}", ty)
    return _extreme(w, depth)
