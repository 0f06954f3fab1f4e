"""Units made of lookup tables or of multiplier blocks compute what the usual ones do."""

import itertools
import random
from functools import partial

import pytest

from allo.backend.rtl.operators import OperatorLibrary
from allo.backend.rtl.operators.families.products import Tiling, cascaded_product
from allo.backend.rtl.operators.netlist import evaluate
from allo.backend.rtl.operators.request import drawn

FRACTIONS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


def _pairs(kind: str, width: int, count: int):
    """Operands of which many are close to each other, far apart by each distance, or subnormal."""
    rng, fraction = random.Random(kind), FRACTIONS[kind]
    for _ in range(count):
        a, b = rng.getrandbits(width), rng.getrandbits(width)
        if rng.random() < 0.7:
            near = (a >> fraction << fraction) + (rng.randrange(-40, 40) << fraction)
            b = (near + rng.getrandbits(fraction) + (rng.getrandbits(1) << width - 1)) % (
                1 << width
            )
        if rng.random() < 0.1:
            b &= (1 << fraction) - 1
        yield a, b


@pytest.mark.parametrize("device", ["xcup", "xc7", "ecp5"])
@pytest.mark.parametrize("kind", list(FRACTIONS))
def test_floats(kind, device):
    library = OperatorLibrary(device, 100.0 if device == "ecp5" else 200.0)
    for op, impl in itertools.product(("addf", "subf", "mulf"), ("dsp", "fabric")):
        usual = library.find(f"arith.{op}", (kind, kind), kind)
        made = library.variant(usual, impl)
        assert bool(made.resources.dsp) == (impl == "dsp"), (op, impl)
        if made.module == usual.module:
            assert made.resources == usual.resources
            continue
        for a, b in _pairs(kind, usual.operand_widths[0], 60 if kind == "f64" else 250):
            operands = {"a": a, "b": b}
            found = evaluate(made.netlist, operands)
            assert found == evaluate(usual.netlist, operands), (op, impl, hex(a), hex(b))


@pytest.mark.parametrize("width", [24, 27, 52, 53, 113])
def test_cascades_of_blocks(width):
    """Sums that blocks make are as wide as their adders at most, and below the sign."""
    rng, tiling = random.Random(width), Tiling(26, 17, 64, 48)
    net = drawn(partial(cascaded_product, tiling=tiling), (width, width))
    blocks = [node for node in net.nodes if node.op == "mul"]
    sums = [node.width for node in net.nodes if node.op == "add" and node.value]
    assert len(sums) >= len(blocks) - -(-width // 26) and max(sums) < 48
    most = (1 << width) - 1
    for a, b in itertools.product((most, 1 << width - 1, rng.getrandbits(width), 0), repeat=2):
        for other in (b, b ^ rng.getrandbits(width)):
            assert evaluate(net, {"a": a, "b": other}) == a * other


def _number(letter: str, bits: int, rng: random.Random) -> int:
    value = rng.choice((rng.getrandbits(bits), 0, (1 << bits) - 1, 1 << bits - 1))
    return value - (1 << bits) if letter == "s" and value >> bits - 1 else value


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8, 16, 17, 32, 33, 64, 100])
def test_products_of_integers(width):
    library, rng = OperatorLibrary("xcup", 200.0), random.Random(width)
    types = (f"i{width}",) * 2, f"i{width}"
    whole = library.variant(library.find("arith.muli", *types), "fabric")
    assert whole.resources.dsp == 0
    numbers = range(1 << width) if width < 5 else [_number("u", width, rng) for _ in range(12)]
    for a, b in itertools.product(numbers, numbers):
        assert evaluate(whole.netlist, {"a": a, "b": b}) == a * b % (1 << width)
    sizes = {1, width // 3 + 1, width // 2 + 1}
    for x, y, left, right in itertools.product("su", "su", sizes, sizes):
        extended = {"extended": ((x, left), (y, right))}
        narrow = library.variant(library.find("arith.muli", *types, extended), "fabric")
        for _ in range(12):
            a, b = _number(x, left, rng), _number(y, right, rng)
            operands = {"a": a % (1 << width), "b": b % (1 << width)}
            assert evaluate(narrow.netlist, operands) == a * b % (1 << width), (x, y, left, right)


def test_a_bound_constant_factor():
    library = OperatorLibrary("xcup", 200.0)
    usual = library.find("arith.muli", ("i16", "i16"), "i16", {"constants": (None, 10)})
    found = {impl: library.variant(usual, impl) for impl in ("dsp", "fabric")}
    assert (found["dsp"].resources.dsp, found["fabric"].resources.dsp) == (1, 0)
    for made in found.values():
        assert evaluate(made.netlist, {"a": 0xFFF3, "b": 10}) == (-13 * 10) % (1 << 16)
