"""Floating-point operators, drawn by :mod:`allo.backend.rtl.float`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from allo.backend.rtl.float import remainder
from allo.backend.rtl.float.add import add, aligned, subtract
from allo.backend.rtl.float.align import align_by_product
from allo.backend.rtl.float.compare import PREDICATES, compare, extremum
from allo.backend.rtl.float.constants.power import is_small_power, multiply_by_power
from allo.backend.rtl.float.constants.reciprocal import constant_of
from allo.backend.rtl.float.convert import convert, from_integer, to_integer
from allo.backend.rtl.float.divide import divide
from allo.backend.rtl.float.flushed.add import add_flushed, subtract_flushed
from allo.backend.rtl.float.flushed.multiply import multiply_flushed
from allo.backend.rtl.float.formats import FORMATS, FloatFormat
from allo.backend.rtl.float.multiply import Product, multiply
from allo.backend.rtl.float.native import (
    EXACT_WHERE_TINY,
    NATIVE_FORMATS,
    narrowed_unit,
    native_unit,
    square_root_unit,
)
from allo.backend.rtl.float.pace import paced_multiply
from allo.backend.rtl.float.quick.one_path import add_in_one_path, subtract_in_one_path
from allo.backend.rtl.float.quick.paths import add_by_paths, subtract_by_paths
from allo.backend.rtl.float.round import MODES, round_to_integral
from allo.backend.rtl.float.square_root import square_root
from allo.dialects.diagnostics import UnsupportedOpError

from ...netlist.modules import Module
from ..iterated import Iteration, iterated
from ..netlist import Signal, cat
from ..pipeline import stages
from ..request import (
    Builder,
    Drawing,
    Request,
    combinational,
    draw_netlist,
    drawn,
    fitted,
    is_integer,
    unit,
)
from ..spec import Operator
from ..timing import live_nodes, total_resources
from .multiply import tiling_of
from .products import Part, cascaded_product, tiled_product
from .rows import product_of_rows

LARGEST_PIPELINED = 8
"""Exponent bits of the largest format whose remainders are pipelined."""

SPARE = 1.05
"""How much quicker a clock a sum must be for that waits for early operands: nothing else is as slow."""


def format_of(request: Request, name: str) -> FloatFormat | None:
    """The float format of this name, as the request treats its subnormals."""
    kind = FORMATS.get(name)
    return replace(kind, flush=True) if kind is not None and request.flush else kind


def binary_native(op: str, kind: FloatFormat) -> Callable[[str, int], Module] | None:
    """The module for the simulator of a unit with two operands, where the host computes what it does."""
    if kind.name not in NATIVE_FORMATS:
        return None
    operands = (("a", kind.name), ("b", kind.name))
    if kind.flush and op not in EXACT_WHERE_TINY:
        if kind.name != "f32":
            return None
        wide = f"{op} {{0}}, {{1}} : f64"
        return lambda module, latency: narrowed_unit(module, latency, wide, operands)
    text = f"{op} {{0}}, {{1}} : {kind.name}"
    return lambda module, latency: native_unit(
        module, latency, text, operands, kind.name, flush=kind.flush
    )


def _arithmetic(request: Request) -> Operator | None:
    kind = format_of(request, request.result_type)
    if kind is None:
        return None
    if request.impl == "fast":
        return (
            _fast_product(request, kind) if request.op == "arith.mulf" else _fast_sum(request, kind)
        )
    tiling = tiling_of(request)
    fabric = request.impl == "fabric" and request.op == "arith.mulf"
    blocks = request.impl == "dsp" and request.op != "arith.mulf"
    smaller = (kind.name, request.clock_mhz) in request.device.smaller_sums
    small = (smaller or kind.flush) and not blocks

    def rows(a: Signal, b: Signal) -> Signal:
        parts = Part(a, False), Part(b, False)
        return product_of_rows(*parts, 2 * kind.precision, tiling.segment)

    multiplies = request.op == "arith.mulf"
    product = rows if fabric or not multiplies else _significand_product(request, kind)

    def draw(a: Signal, b: Signal) -> Signal:
        if multiplies:
            return _whole_product(kind)(a, b, kind, product)
        return draw_sum(a, b, quick=not small)

    def draw_sum(a: Signal, b: Signal, *, quick: bool = False) -> Signal:
        align = partial(align_by_product, product=shift) if blocks else aligned
        adds = request.op == "arith.addf"
        if kind.flush:
            sum_ = add_flushed if adds else subtract_flushed
        else:
            sum_ = add if adds else subtract
        return sum_(a, b, kind, align, quick=quick)

    def shift(a: Signal, b: Signal) -> Signal:
        return tiled_product(Part(a, False), Part(b, False), a.width + b.width - 1, tiling)

    def pace(a: Signal, b: Signal) -> Signal:
        plain = replace(kind, flush=False)
        if multiplies:
            return paced_multiply(a, b, plain, product)
        return add(a, b, plain, quick=True)

    name = request.op.removeprefix("arith.").removesuffix("f")
    native = binary_native(request.op, kind)
    paced = pace if (multiplies or kind.flush) and not request.device.packs else None
    quick = None if multiplies or kind.flush or not small else partial(draw_sum, quick=True)
    made = "_fabric" if fabric else "_dsp" if blocks else ""
    label = f"f{name}_{kind.label}{made}"
    spread = request.device.packs if multiplies else kind.flush
    return unit(request, Drawing(label, draw, native, pace=paced, quick=quick, spread=spread))


def _whole_product(kind: FloatFormat) -> Callable[[Signal, Signal, FloatFormat, Product], Signal]:
    """The drawing of a product, as the format treats subnormals."""
    return multiply_flushed if kind.flush else multiply


def _significand_product(request: Request, kind: FloatFormat) -> Product:
    """The exact product of two significands: a cascade of blocks, but where that takes more cycles.

    At clocks that no block reaches without registers inside, cycles fewer by other sums are of no use.
    """
    tiling = tiling_of(request)

    def tiled(a: Signal, b: Signal) -> Signal:
        return tiled_product(Part(a, False), Part(b, False), 2 * kind.precision, tiling)

    def cascaded(a: Signal, b: Signal) -> Signal:
        return cascaded_product(a, b, tiling)

    if not tiling.adder or kind.precision <= tiling.large:
        return tiled

    def cycles(product: Product) -> int:
        net = drawn(lambda a, b: _whole_product(kind)(a, b, kind, product), request.widths)
        return stages(net, request.device, request.clock_mhz, tables=request.device.packs)

    if request.budget_ns < request.device.dsp_ns:
        return cascaded
    return min(cascaded, tiled, key=cycles)


def _fast_sum(request: Request, kind: FloatFormat) -> Operator:
    """A sum in as few cycles as can be, for loops that wait for it.

    Its operands come a quarter later than those of others, or, where it then has fewer cycles with a
    twentieth of the clock's period to spare, behind one multiplexer, which is what such a loop has in front
    of it. Of drawings with as few cycles at the clock, the one with the fewest lookup tables.
    """
    device = request.device
    late = 1.25 * device.source_ns, 1.0
    early = device.level_ns + 2 * device.fanout_ns, SPARE
    adds = request.op == "arith.addf"
    paths = add_by_paths if adds else subtract_by_paths
    one = add_in_one_path if adds else subtract_in_one_path
    if kind.flush:
        plain: Callable[..., Signal] = add_flushed if adds else subtract_flushed
    else:
        plain = add if adds else subtract
    name, native = (
        f"{'fadd' if adds else 'fsub'}_{kind.label}_fast",
        binary_native(request.op, kind),
    )
    wide = device.fanin >= 6
    draws: list[tuple[Callable[..., Signal], list[tuple[float, float]]]] = [
        (partial(paths, flat=wide), [late, early]),
        (one, [late, early]),
        (partial(plain, quick=True), [late, early]),
    ]
    if device.absorbs:
        draws.append((partial(one, joined=True), [late]))
    if wide and not kind.flush:
        draws.append((partial(paths, early=True), [early]))
    choices: list[tuple[int, float, int, Drawing]] = []
    for draw, sources in draws:
        drawing = Drawing(
            name, lambda a, b, draw=draw: draw(a, b, kind), native, spread=True, tables=True
        )
        net = draw_netlist(drawing, request.widths)
        tables = total_resources(net, live_nodes(net)).lut
        for source_ns, spare in sources:
            later = replace(device, source_ns=source_ns)
            cycles = stages(net, later, spare * request.clock_mhz, tables=True)
            choices.append((cycles, -source_ns, tables, drawing))
    _, earlier, _, drawing = min(choices, key=lambda choice: choice[:3])
    made = unit(replace(request, device=replace(device, source_ns=-earlier)), drawing)
    return replace(made, joins=True)


def _fast_product(request: Request, kind: FloatFormat) -> Operator:
    """A product in as few cycles as can be; by a small power of two in none, where that fits."""
    for place in (0, 1):
        scaled = _scaled(request, kind, place)
        if scaled is not None:
            return fitted(request, scaled)
    product = _significand_product(request, kind)
    return unit(
        request,
        Drawing(
            f"fmul_{kind.label}_fast",
            lambda a, b: _whole_product(kind)(a, b, kind, product),
            binary_native(request.op, kind),
            spread=True,
            tables=True,
        ),
    )


def _scaled(request: Request, kind: FloatFormat, place: int) -> Drawing | None:
    """The product by a constant operand that is a small power of two."""
    bits = request.constant(place)
    by = constant_of(bits, kind) if bits is not None else None
    if bits is None or by is None or not is_small_power(by, kind):
        return None
    return Drawing(
        f"fmul_{kind.label}_by0x{bits:0{-(-kind.width // 4)}x}",
        lambda *operands: multiply_by_power(operands[1 - place], by, kind),
        tables=True,
    )


def _divide(request: Request) -> Operator | None:
    kind = format_of(request, request.result_type)
    if kind is None:
        return None
    native = binary_native(request.op, kind)
    return unit(request, Drawing(f"fdiv_{kind.label}", lambda a, b: divide(a, b, kind), native))


def _square_root(request: Request) -> Operator | None:
    kind = format_of(request, request.result_type)
    if kind is None:
        return None
    native = None
    if kind.name in NATIVE_FORMATS:
        native = partial(square_root_unit, kind=kind)

    return unit(request, Drawing(f"fsqrt_{kind.label}", lambda a: square_root(a, kind), native))


def _round(request: Request) -> Operator | None:
    kind, mode = format_of(request, request.result_type), request.op.removeprefix("math.")
    if kind is None:
        return None
    drawing = Drawing(f"f{mode}_{kind.label}", lambda a: round_to_integral(a, kind, mode))
    return fitted(request, drawing)


def _remainder(request: Request) -> Operator | None:
    kind = format_of(request, request.result_type)
    if kind is None:
        return None
    if request.impl == "pipelined":
        return _pipelined_remainder(request, kind)
    made = Iteration(
        f"frem_{kind.label}",
        lambda a, b: remainder.begin(a, b, kind),
        lambda state, number: remainder.several(state, kind, number),
        lambda state: remainder.end(state, kind),
        remainder.rows(kind),
        remainder.moving_bits(kind),
    )
    return iterated(request, made)


def _pipelined_remainder(request: Request, kind: FloatFormat) -> Operator:
    if kind.exponent > LARGEST_PIPELINED:
        raise UnsupportedOpError(
            f"A pipelined remainder of {kind.name} would take some 250,000 lookup tables.",
            help='take the remainder of float32, or bind "frem" to "iterated", a small unit.',
        )
    return unit(
        request,
        Drawing(f"frem_{kind.label}_pipelined", lambda a, b: remainder.at_once(a, b, kind)),
    )


def _cmpf(request: Request) -> Operator | None:
    kind = format_of(request, request.operand_types[0])
    if kind is None:
        return None
    predicate = request.predicate(PREDICATES)
    drawing = Drawing(f"fcmp_{predicate}_{kind.label}", lambda a, b: compare(a, b, kind, predicate))
    return fitted(request, drawing)


def _extremum(request: Request) -> Operator | None:
    kind = format_of(request, request.result_type)
    if kind is None:
        return None
    name = request.op.removeprefix("arith.")
    maximum, number = name.startswith("max"), "num" in name

    def draw(a: Signal, b: Signal) -> Signal:
        return extremum(a, b, kind, maximum=maximum, number=number)

    return fitted(request, Drawing(f"{name}_{kind.label}", draw))


def _negf(request: Request) -> Operator | None:
    kind = format_of(request, request.result_type)
    if kind is None:
        return None
    return combinational(
        request,
        Drawing(f"fneg_{kind.name}", lambda a: cat(~a.bit(-1), a.bits(0, kind.width - 1))),
    )


def _absf(request: Request) -> Operator | None:
    kind = format_of(request, request.result_type)
    if kind is None:
        return None
    return combinational(
        request, Drawing(f"fabs_{kind.name}", lambda a: a.bits(0, kind.width - 1).zext(kind.width))
    )


def _copysign(request: Request) -> Operator | None:
    kind = format_of(request, request.result_type)
    if kind is None:
        return None
    return combinational(
        request,
        Drawing(f"fcopysign_{kind.name}", lambda a, b: cat(b.bit(-1), a.bits(0, kind.width - 1))),
    )


def _resize(request: Request) -> Operator | None:
    source, target = (
        format_of(request, name) for name in (request.operand_types[0], request.result_type)
    )
    if source is None or target is None:
        return None
    native = None
    if source.name in NATIVE_FORMATS and target.name in NATIVE_FORMATS:
        text = f"{request.op} {{0}} : {source.name} to {target.name}"
        operands = (("a", source.name),)

        def native(module: str, latency: int) -> Module:
            if target.flush and request.op not in EXACT_WHERE_TINY:
                return narrowed_unit(module, latency, "", operands)
            flush = target.flush
            return native_unit(module, latency, text, operands, target.name, flush=flush)

    drawing = Drawing(
        f"fcvt_{source.name}_{target.label}", lambda a: convert(a, source, target), native
    )
    return fitted(request, drawing)


def _from_integer(request: Request) -> Operator | None:
    kind, source = format_of(request, request.result_type), request.operand_types[0]
    if kind is None or not is_integer(source):
        return None
    signed, width = request.op == "arith.sitofp", request.widths[0]
    native = None
    if kind.name in NATIVE_FORMATS and width <= 64:
        text = f"{request.op} {{0}} : i{width} to {kind.name}"

        def native(module: str, latency: int) -> Module:
            return native_unit(module, latency, text, (("a", f"i{width}"),), kind.name)

    letter = "s" if signed else "u"
    drawing = Drawing(
        f"fcvt_{letter}i{width}_{kind.name}", lambda a: from_integer(a, kind, signed=signed), native
    )
    return fitted(request, drawing)


def _to_integer(request: Request) -> Operator | None:
    kind, target = format_of(request, request.operand_types[0]), request.result_type
    if kind is None or not is_integer(target):
        return None
    signed, width = request.op == "arith.fptosi", request.result_width
    letter = "s" if signed else "u"
    return fitted(
        request,
        Drawing(
            f"fcvt_{kind.label}_{letter}i{width}",
            lambda a: to_integer(a, kind, width, signed=signed),
        ),
    )


OPERATORS: dict[str, Builder] = {
    **dict.fromkeys(("arith.addf", "arith.subf", "arith.mulf"), _arithmetic),
    "arith.divf": _divide,
    "math.sqrt": _square_root,
    "arith.cmpf": _cmpf,
    **dict.fromkeys(
        ("arith.minimumf", "arith.maximumf", "arith.minnumf", "arith.maxnumf"), _extremum
    ),
    "arith.remf": _remainder,
    **{f"math.{mode}": _round for mode in MODES},
    "arith.negf": _negf,
    "math.absf": _absf,
    "math.copysign": _copysign,
    "arith.extf": _resize,
    "arith.truncf": _resize,
    "arith.sitofp": _from_integer,
    "arith.uitofp": _from_integer,
    "arith.fptosi": _to_integer,
    "arith.fptoui": _to_integer,
}
