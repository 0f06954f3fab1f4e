"""Random straight-line integer programs: values of many widths flow through chains of operations.

What single operations cannot show: signs and ranges that the emitter carries from one
operation to the next, and where it therefore leaves a cast out.
"""

from __future__ import annotations

import random

from .ops_module import BINARY, PREDICATES, Builder

WIDTHS = (1, 2, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 90)


def random_program(seed: int, count: int, length: int = 24) -> Builder:
    """A builder whose inputs are arrays of random widths and whose outputs are some of the values."""
    rng = random.Random(seed)
    b = Builder(count)
    pool: list[tuple[str, int]] = []
    for k in range(4):
        bits = rng.choice(WIDTHS)
        sign = rng.choice(("", "u"))
        pool.append((b.input(f"x{k}", f"{sign}i{bits}"), bits))
    pool.append((b.let("iv", "arith.index_cast %i : index to i32"), 32))
    pool.append((b.let("iu", "arith.index_castui %i : index to i16"), 16))
    for k in range(length):
        pool.append(_step(b, rng, pool, f"v{k}"))
    for k, (value, bits) in enumerate(pool[-8:]):
        b.output(f"o{k}", f"{rng.choice(('', 'u'))}i{bits}", value)
    return b


def _step(
    b: Builder, rng: random.Random, pool: list[tuple[str, int]], name: str
) -> tuple[str, int]:
    value, bits = rng.choice(pool[-10:])
    kind = rng.random()
    if kind < 0.2:
        return _resize(b, rng, value, bits, name)
    if kind < 0.28:
        constant = rng.choice((0, 1, -1, 2, 3, 1 << (bits - 1), rng.getrandbits(bits)))
        constant = (constant + (1 << bits)) % (1 << bits)
        signed = constant - (1 << bits) if constant >> (bits - 1) else constant
        text = ("true" if signed else "false") if bits == 1 else f"{signed} : i{bits}"
        return b.let(name, f"arith.constant {text}"), bits
    other = _same_width(b, rng, pool, bits, name)
    if kind < 0.4:
        predicate = rng.choice(PREDICATES)
        return b.let(name, f"arith.cmpi {predicate}, {value}, {other} : i{bits}"), 1
    if kind < 0.5:
        flags = [v for v, n in pool if n == 1]
        if flags:
            return b.let(
                name, f"arith.select {rng.choice(flags)}, {value}, {other} : i{bits}"
            ), bits
    op = rng.choice(["addi", "subi", "muli", *BINARY])
    return b.let(name, f"arith.{op} {value}, {other} : i{bits}"), bits


def _resize(b: Builder, rng: random.Random, value: str, bits: int, name: str) -> tuple[str, int]:
    target = rng.choice(WIDTHS)
    if target == bits:
        target = bits + 1
    op = "trunci" if target < bits else rng.choice(("extsi", "extui"))
    return b.let(name, f"arith.{op} {value} : i{bits} to i{target}"), target


def _same_width(
    b: Builder, rng: random.Random, pool: list[tuple[str, int]], bits: int, name: str
) -> str:
    same = [v for v, n in pool if n == bits]
    if len(same) > 1 or rng.random() < 0.5:
        return rng.choice(same)
    value, own = rng.choice(pool)
    if own == bits:
        return value
    op = "trunci" if own > bits else rng.choice(("extsi", "extui"))
    return b.let(f"{name}r", f"arith.{op} {value} : i{own} to i{bits}")
