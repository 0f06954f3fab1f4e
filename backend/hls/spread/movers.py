"""Functions that move elements between the lines of several channels and a buffer.

In each step of the pipeline, one line of 512 bits passes by every channel, in the order of their addresses:
this is what the vendor's tool makes bursts of. The elements of the lines are then put in the buffer, or were
taken from it. For two channels and 32-bit elements::

    for (int w = 0; w < W; w++) {
    #pragma HLS pipeline II=1
      ap_uint<512> line_0 = port_0[base + w], line_1 = port_1[base + w];
      for (int e = 0; e < 16; e++) {
      #pragma HLS unroll
        buffer[32 * w + e] = line_0 >> 32 * e;
        buffer[32 * w + 16 + e] = line_1 >> 32 * e;
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from allo.dialects._mlir import ir

from .layout import LINE_BITS, Spread
from .packed import packed_lines

Subscripts = Callable[[str], str]
"""From the number of an element, as text, to its subscripts in the buffer."""

_LINE = f"i{LINE_BITS}"


def row_major(shape: Sequence[int]) -> Subscripts:
    """The subscripts of a buffer that is moved whole."""

    def of(number: str) -> str:
        texts, inner = [], 1
        for extent in reversed(shape):
            quotient = f"(({number}) floordiv {inner})" if inner > 1 else f"({number})"
            texts.append(f"{quotient} mod {extent}")
            inner *= extent
        if len(texts) == 1:
            return number
        texts[-1] = texts[-1].rsplit(" mod ", 1)[0]
        return ", ".join(reversed(texts))

    return of


def mover(
    name: str,
    spread: Spread,
    buffer: ir.MemRefType,
    count: int,
    subscripts: Subscripts,
    *,
    load: bool,
    operands: int = 0,
) -> str:
    """The text of a function ``name(port_0, …, buffer, base, o0, …)``.

    Args:
        count: elements that are moved, from the first of line ``base`` of channel 0 on.
        subscripts: of an element in the buffer, in terms of its number and of ``%o0``, ``%o1`` and so on.
        load: whether the buffer is filled; otherwise the lines are.
        operands: how many of these there are.
    """
    channels = range(spread.channels)
    steps = -(-count * spread.cell // spread.group)
    ports = [f"%p{c}: {spread.port}" for c in channels]
    more = ["%base: index", *(f"%o{n}: index" for n in range(operands))]
    names = [*(f'"port_{c}"' for c in channels), '"buffer"', '"base"']
    names += [f'"o{n}"' for n in range(operands)]
    types = [f'"{spread.port_declared}"'] * spread.channels + [f'"{spread.declared}"']
    types += ['"index"'] * len(more)
    letters = "u" * spread.channels + ("s" if spread.is_signed else "_") + "s" * len(more)
    lines = [
        f"func.func @{name}({', '.join([*ports, f'%b: {buffer}', *more])}) attributes {{io, "
        f"arg_names = [{', '.join(names)}], arg_types = [{', '.join(types)}], "
        f'itypes = "{letters}", otypes = "", res_types = []}} {{',
        f"affine.for %w = 0 to {steps} {{",
    ]
    if spread.packed:
        before, inside = packed_lines(spread, buffer, count, subscripts, load=load)
        lines[-1:-1] = before
        lines += inside
    else:
        body = _load_lines if load else _store_lines
        lines += body(spread, buffer, count, subscripts)
    lines.append(f'}} {{loop_name = "{name}_lines", op_name = "S_{name}", pipeline_ii = 1 : ui32}}')
    return "\n".join([*lines, "return", "}"])


def _load_lines(
    spread: Spread, buffer: ir.MemRefType, count: int, subscripts: Subscripts
) -> list[str]:
    channels = range(spread.channels)
    at = "%base + %w"
    mark = '{from = "port", unsigned}'
    lines = [f"%l{c} = affine.load %p{c}[{at}] {mark} : {spread.port}" for c in channels]
    inside = _shift(spread)
    for c in channels:
        value = f"%s{c}"
        text = [f"%h{c} = arith.shrui %l{c}, %by : {_LINE}", *_element(spread, c)]
        number = _number(spread, c)
        text.append(f'affine.store {value}, %b[{subscripts(number)}] {{to = "buffer"}} : {buffer}')
        inside += _within(spread, c, count, text)
    return lines + _unrolled(spread, inside)


def _store_lines(
    spread: Spread, buffer: ir.MemRefType, count: int, subscripts: Subscripts
) -> list[str]:
    channels, scalar = range(spread.channels), f"memref<{_LINE}>"
    lines = [f"%zero = arith.constant 0 : {_LINE}"]
    for c in channels:
        lines += [
            f'%a{c} = memref.alloc() {{name = "line_{c}", unsigned}} : {scalar}',
            f'affine.store %zero, %a{c}[] {{to = "line_{c}", unsigned}} : {scalar}',
        ]
    inside = _shift(spread)
    for c in channels:
        text = [
            f'%v{c} = affine.load %b[{subscripts(_number(spread, c))}] {{from = "buffer"}} : {buffer}',
            *_cell(spread, c),
            f"%x{c} = arith.shli %c{c}, %by : {_LINE}",
            f'%y{c} = affine.load %a{c}[] {{from = "line_{c}", unsigned}} : {scalar}',
            f"%z{c} = arith.ori %y{c}, %x{c} : {_LINE}",
            f'affine.store %z{c}, %a{c}[] {{to = "line_{c}", unsigned}} : {scalar}',
        ]
        inside += _within(spread, c, count, text)
    lines += _unrolled(spread, inside)
    for c in channels:
        lines += [
            f'%r{c} = affine.load %a{c}[] {{from = "line_{c}", unsigned}} : {scalar}',
            f'affine.store %r{c}, %p{c}[%base + %w] {{to = "port", unsigned}} : {spread.port}',
        ]
    return lines


def _number(spread: Spread, channel: int) -> str:
    each = spread.in_line
    return f"%w * {each * spread.channels} + %e + {channel * each}"


def _shift(spread: Spread) -> list[str]:
    """How far the element lies in its line: the value ``%by``."""
    return [
        f"%at = affine.apply affine_map<(d0) -> (d0 * {spread.cell})>(%e)",
        f"%by = arith.index_cast %at : index to {_LINE}",
    ]


def _within(spread: Spread, channel: int, count: int, text: list[str]) -> list[str]:
    """``text``, for elements that there are."""
    each = spread.in_line
    step = each * spread.channels
    begin = (-(-count // step) - 1) * step + channel * each
    if begin + each <= count:
        return text
    last = count - 1 - channel * each
    condition = f"affine_set<(d0, d1) : (d0 * {-step} - d1 + {last} >= 0)>"
    return [f"affine.if {condition}(%w, %e) {{", *text, "}"]


def _unrolled(spread: Spread, inside: list[str]) -> list[str]:
    tail = '} {loop_name = "e", unroll = 0 : i32}'
    return [f"affine.for %e = 0 to {spread.in_line} {{", *inside, tail]


def _element(spread: Spread, channel: int) -> list[str]:
    """From the shifted line ``%h`` to the element ``%s``."""
    kind, bits = spread.kind.element_type, spread.bits
    made = f"%t{channel} = arith.trunci %h{channel} : {_LINE} to i{bits}"
    if bits == LINE_BITS:
        made = f"%t{channel} = arith.ori %h{channel}, %h{channel} : {_LINE}"
    if isinstance(kind, ir.IntegerType):
        return [made.replace("%t", "%s", 1)]
    return [made, f"%s{channel} = arith.bitcast %t{channel} : i{bits} to {kind}"]


def _cell(spread: Spread, channel: int) -> list[str]:
    """From the element ``%v`` to the bits of its cell in the place of the lowest, ``%c``."""
    kind, bits, cell = spread.kind.element_type, spread.bits, spread.cell
    value, lines = f"%v{channel}", []
    if not isinstance(kind, ir.IntegerType):
        lines.append(f"%i{channel} = arith.bitcast {value} : {kind} to i{bits}")
        value = f"%i{channel}"
    if bits < cell:
        widen = "extsi" if spread.is_signed and bits > 1 else "extui"
        lines.append(f"%d{channel} = arith.{widen} {value} : i{bits} to i{cell}")
        value = f"%d{channel}"
    if cell == LINE_BITS:
        return [*lines, f"%c{channel} = arith.ori {value}, {value} : {_LINE}"]
    return [*lines, f"%c{channel} = arith.extui {value} : i{cell} to {_LINE}"]
