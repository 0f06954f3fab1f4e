"""Write the polynomial tables of allo.dialects.passes.math (needs mpmath).

Each table row interpolates a function on one segment at Chebyshev points, in 100 digits; the
coefficients are rounded to the table's fraction bits.

    scripts/python scripts/make_math_tables.py > dialects/passes/math/tables.json
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import mpmath as mp

mp.mp.dps = 100

Function = Callable[[mp.mpf], mp.mpf]
Segment = tuple[Function, mp.mpf, mp.mpf]


def polynomial(function: Function, low: mp.mpf, high: mp.mpf, degree: int) -> list[mp.mpf]:
    """Coefficients in u of ``function((low + high + u (high - low)) / 2)`` for u in [-1, 1]."""
    middle, half = (low + high) / 2, (high - low) / 2
    count = degree + 1
    nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    system = mp.matrix(count, count)
    values = mp.matrix(count, 1)
    for i, node in enumerate(nodes):
        for k in range(count):
            system[i, k] = node**k
        values[i] = function(middle + half * node)
    return list(mp.lu_solve(system, values))


def uniform(function: Function, low: float, step: float, count: int) -> list[Segment]:
    """Segments of one length."""
    return [(function, low + mp.mpf(step) * i, low + mp.mpf(step) * (i + 1)) for i in range(count)]


def table(segments: Sequence[Segment], degree: int, fraction: int) -> str:
    """JSON text of a table, a segment a line."""
    rows = []
    for function, low, high in segments:
        exact = polynomial(function, mp.mpf(low), mp.mpf(high), degree)
        rows.append(json.dumps([int(mp.nint(c * mp.mpf(2) ** fraction)) for c in exact]))
    text = ",\n        ".join(rows)
    return f'{{\n      "fraction": {fraction},\n      "coefficients": [\n        {text}\n      ]\n    }}'


def log_ratio(base: mp.mpf) -> Function:
    """log(1 + f) / f in some base, smooth through 0."""
    scale = 1 / mp.log(base)
    return lambda f: scale if f == 0 else scale * mp.log1p(f) / f


def odd_saturating(function: Function, slope: mp.mpf, octaves: int) -> list[Segment]:
    """Eight segments for [0, 1/4) and for each octave above: f(x)/x below 1, f(x) from 1 on."""

    def ratio(x: mp.mpf) -> mp.mpf:
        return slope if x == 0 else function(x) / x

    segments = uniform(ratio, 0, 1 / 32, 8)
    for octave in range(-2, octaves - 3):
        start = mp.mpf(2) ** octave
        segments += uniform(function if octave >= 0 else ratio, start, start / 8, 8)
    return segments


def quarter_waves() -> list[Segment]:
    """sin(pi/2 r)/r, then cos(pi/2 r), for r in [0, 1/2]."""

    def sine(r: mp.mpf) -> mp.mpf:
        return mp.pi / 2 if r == 0 else mp.sin(mp.pi / 2 * r) / r

    def cosine(r: mp.mpf) -> mp.mpf:
        return mp.cos(mp.pi / 2 * r)

    return uniform(sine, 0, 1 / 16, 8) + uniform(cosine, 0, 1 / 16, 8)


def tangent(r: mp.mpf) -> mp.mpf:
    """tan(pi/2 r)/r."""
    return mp.pi / 2 if r == 0 else mp.tan(mp.pi / 2 * r) / r


def tables_f32() -> dict[str, str]:
    """Every table of the float32 expansions."""
    two_power = uniform(lambda f: mp.mpf(2) ** f, 0, 1 / 16, 16)
    root = [lambda m: 2 / mp.sqrt(m), lambda m: 2 / mp.sqrt(2 * m)]
    return {
        "EXP2": table(two_power, 3, 30),
        "LOG2": table(uniform(log_ratio(mp.mpf(2)), -0.25, 1 / 32, 24), 4, 31),
        "LOG2_WIDE": table(uniform(log_ratio(mp.mpf(2)), -0.25, 1 / 32, 24), 6, 42),
        "LN": table(uniform(log_ratio(mp.e), -0.25, 1 / 32, 24), 4, 31),
        "LOG10": table(uniform(log_ratio(mp.mpf(10)), -0.25, 1 / 32, 24), 4, 32),
        "RSQRT": table([s for f in root for s in uniform(f, 1, 1 / 16, 16)], 4, 30),
        "TANH": table(odd_saturating(mp.tanh, mp.mpf(1), 7), 4, 30),
        "ERF": table(odd_saturating(mp.erf, 2 / mp.sqrt(mp.pi), 5), 4, 30),
        "QUARTER": table(quarter_waves(), 4, 30),
        "TANGENT": table(uniform(tangent, 0, 1 / 16, 8), 6, 30),
    }


def tables_f64() -> dict[str, str]:
    """Every table of the float64 expansions."""
    two_power = uniform(lambda f: mp.mpf(2) ** f, 0, 1 / 32, 32)
    root = [lambda m: 2 / mp.sqrt(m), lambda m: 2 / mp.sqrt(2 * m)]
    return {
        "EXP2": table(two_power, 6, 61),
        "LOG2": table(uniform(log_ratio(mp.mpf(2)), -0.25, 1 / 32, 24), 9, 61),
        "LN": table(uniform(log_ratio(mp.e), -0.25, 1 / 32, 24), 9, 61),
        "LOG10": table(uniform(log_ratio(mp.mpf(10)), -0.25, 1 / 32, 24), 9, 62),
        "RSQRT": table([s for f in root for s in uniform(f, 1, 1 / 16, 16)], 9, 61),
        "TANH": table(odd_saturating(mp.tanh, mp.mpf(1), 8), 11, 61),
        "ERF": table(odd_saturating(mp.erf, 2 / mp.sqrt(mp.pi), 6), 11, 61),
    }


CONSTANTS = {
    "f32": {"LOG2_OF_E": 33, "LN_OF_2": 55, "LOG10_OF_2": 56, "TWO_OVER_PI": 240},
    "f64": {"LOG2_OF_E": 68, "LN_OF_2": 114, "LOG10_OF_2": 115},
}
"""Fraction bits of each constant."""


def main() -> None:
    """Print the file."""
    values = {
        "LOG2_OF_E": 1 / mp.log(2),
        "LN_OF_2": mp.log(2),
        "LOG10_OF_2": mp.log10(2),
        "TWO_OVER_PI": 2 / mp.pi,
    }
    formats = []
    for kind, tables in (("f32", tables_f32()), ("f64", tables_f64())):
        entries = [f'    "{name}": {text}' for name, text in tables.items()]
        for name, fraction in CONSTANTS[kind].items():
            number = int(mp.nint(values[name] * mp.mpf(2) ** fraction))
            entries.append(f'    "{name}": {number}')
        formats.append(f'  "{kind}": {{\n' + ",\n".join(entries) + "\n  }")
    print("{\n" + ",\n".join(formats) + "\n}")


if __name__ == "__main__":
    main()
