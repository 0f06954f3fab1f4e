"""The lines of packed arrays as elements, and elements as lines: one line of each channel a step.

Elements of B bits lie one after the other in the bits of the lines, so one may begin in a line and end in the
next. In step ``w`` those elements are put in the buffer that end in its lines; the last bits are kept for the
one that goes on. For one channel, in C++::

    ap_uint<512 + B> window = line << B | tail;  tail = window >> 512;
    window >>= B - 512 * w % B;                  // the first element that ends here
    for (int e = 0; e < elements; e++)           // unrolled
      if (…it ends in this line…) buffer[512 * w / B + e] = window >> B * e;

To store, the elements that have bits in the lines of the step are put side by side, and shifted to where the
first of them begins. Ports are read and written once a step, in the order of their addresses, without a
condition: that is what the vendor's tool makes bursts of.
"""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects._mlir import ir

from .layout import LINE_BITS, Spread

_LINE = f"i{LINE_BITS}"


def packed_lines(
    spread: Spread,
    buffer: ir.MemRefType,
    count: int,
    subscripts: Callable[[str], str],
    *,
    load: bool,
) -> tuple[list[str], list[str]]:
    """What stands before the loop over lines ``%w`` of a mover, and in it.

    Args:
        count: elements that are moved.
        subscripts: of an element in the buffer, by its number as text.
        load: whether the buffer is filled; otherwise the lines are.
    """
    if load:
        return _load(spread, buffer, count, subscripts)
    return [], _store(spread, buffer, count, subscripts)


def _load(
    spread: Spread, buffer: ir.MemRefType, count: int, subscripts: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    bits, group = spread.bits, spread.group
    wide = f"i{group + bits}"
    tail = f"memref<{wide}>"
    before = [
        f'%tail = memref.alloc() {{name = "tail", unsigned}} : {tail}',
        f"%none = arith.constant 0 : {wide}",
        f'affine.store %none, %tail[] {{to = "tail", unsigned}} : {tail}',
    ]
    lines = _read_lines(spread, wide)
    lines += [
        f"%up = arith.constant {bits} : {wide}",
        f"%above = arith.shli %line, %up : {wide}",
        f'%kept = affine.load %tail[] {{from = "tail", unsigned}} : {tail}',
        f"%window = arith.ori %above, %kept : {wide}",
        f"%below = arith.constant {group} : {wide}",
        f"%rest = arith.shrui %window, %below : {wide}",
        f'affine.store %rest, %tail[] {{to = "tail", unsigned}} : {tail}',
        f"%at = affine.apply affine_map<(d0) -> ({bits} - (d0 * {group}) mod {bits})>(%w)",
        f"%by = arith.index_cast %at : index to {wide}",
        f"%begun = arith.shrui %window, %by : {wide}",
    ]
    first = f"(d0 * {group}) floordiv {bits} + d1"
    ends = f"(d0 + 1) * {group} - ({first} + 1) * {bits} >= 0"
    there = f"{count - 1} - ({first}) >= 0"
    inside = [
        *_offset(bits, wide),
        f"%shifted = arith.shrui %begun, %off : {wide}",
        *_element(spread, wide),
        f"affine.if affine_set<(d0, d1) : ({ends}, {there})>(%w, %e) {{",
        f'affine.store %value, %b[{subscripts(_number(spread))}] {{to = "buffer"}} : {buffer}',
        "}",
    ]
    return before, lines + _unrolled(-(-group // bits), inside)


def _store(
    spread: Spread, buffer: ir.MemRefType, count: int, subscripts: Callable[[str], str]
) -> list[str]:
    bits, group = spread.bits, spread.group
    most = -(-(group + bits - 1) // bits)
    wide = f"i{max(most * bits, LINE_BITS + 1)}"
    side = f"memref<{wide}>"
    lines = [
        f'%side = memref.alloc() {{name = "side", unsigned}} : {side}',
        f"%zero = arith.constant 0 : {wide}",
        f'affine.store %zero, %side[] {{to = "side", unsigned}} : {side}',
    ]
    there = f"{count - 1} - ((d0 * {group}) floordiv {bits} + d1) >= 0"
    inside = [
        *_offset(bits, wide),
        f"affine.if affine_set<(d0, d1) : ({there})>(%w, %e) {{",
        f'%value = affine.load %b[{subscripts(_number(spread))}] {{from = "buffer"}} : {buffer}',
        *_bits(spread, wide),
        f"%put = arith.shli %bits, %off : {wide}",
        f'%old = affine.load %side[] {{from = "side", unsigned}} : {side}',
        f"%new = arith.ori %old, %put : {wide}",
        f'affine.store %new, %side[] {{to = "side", unsigned}} : {side}',
        "}",
    ]
    lines += _unrolled(most, inside)
    lines += [
        f'%all = affine.load %side[] {{from = "side", unsigned}} : {side}',
        f"%at = affine.apply affine_map<(d0) -> ((d0 * {group}) mod {bits})>(%w)",
        f"%by = arith.index_cast %at : index to {wide}",
        f"%begun = arith.shrui %all, %by : {wide}",
    ]
    for c in range(spread.channels):
        line = "%begun"
        if c:
            line = f"%h{c}"
            lines += [
                f"%n{c} = arith.constant {c * LINE_BITS} : {wide}",
                f"{line} = arith.shrui %begun, %n{c} : {wide}",
            ]
        lines += [
            f"%r{c} = arith.trunci {line} : {wide} to {_LINE}",
            f'affine.store %r{c}, %p{c}[%base + %w] {{to = "port", unsigned}} : {spread.port}',
        ]
    return lines


def _read_lines(spread: Spread, wide: str) -> list[str]:
    """The lines of all channels side by side, ``%line``."""
    lines, last = [], spread.channels - 1
    names = [*(f"%j{c}" for c in range(last)), "%line"]
    for c, name in enumerate(names):
        lines += [
            f'%l{c} = affine.load %p{c}[%base + %w] {{from = "port", unsigned}} : {spread.port}',
            f"{f'%x{c}' if c else name} = arith.extui %l{c} : {_LINE} to {wide}",
        ]
        if c:
            lines += [
                f"%n{c} = arith.constant {c * LINE_BITS} : {wide}",
                f"%y{c} = arith.shli %x{c}, %n{c} : {wide}",
                f"{name} = arith.ori {names[c - 1]}, %y{c} : {wide}",
            ]
    return lines


def _number(spread: Spread) -> str:
    return f"(%w * {spread.group}) floordiv {spread.bits} + %e"


def _offset(bits: int, wide: str) -> list[str]:
    """How far the element lies from the first: the value ``%off``."""
    return [
        f"%o = affine.apply affine_map<(d0) -> (d0 * {bits})>(%e)",
        f"%off = arith.index_cast %o : index to {wide}",
    ]


def _element(spread: Spread, wide: str) -> list[str]:
    """From the shifted bits to the element ``%value``; packed elements are integers or fixed point."""
    return [f"%value = arith.trunci %shifted : {wide} to i{spread.bits}"]


def _bits(spread: Spread, wide: str) -> list[str]:
    return [f"%bits = arith.extui %value : i{spread.bits} to {wide}"]


def _unrolled(times: int, inside: list[str]) -> list[str]:
    tail = '} {loop_name = "e", unroll = 0 : i32}'
    return [f"affine.for %e = 0 to {times} {{", *inside, tail]
