"""Every scalar operation, compiled by g++ and by the JIT, on the same random and corner inputs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from allo.dialects.boundary.storage import encode, natural_dtype
from allo.dialects.types import parse_type
from allo.target import BuildRequest, find_target

from .ops_module import float_ops, integer_ops, module_text
from .random_programs import random_program

COUNT = 96


TARGETS = pytest.mark.parametrize("target", ["vhls", "catapult"])


def run(target: str, text: str, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    module = find_target(target)(BuildRequest(text, "top", target))
    copies = {name: value.copy() for name, value in values.items()}
    module(*copies.values())
    return copies


def integers(bits: int, count: int, rng: np.random.Generator) -> list[int]:
    high = (1 << bits) - 1
    corners = [0, 1, high, high >> 1, (high >> 1) + 1, 2 & high, 3 & high, high - 1, 5 & high]
    random = [int.from_bytes(rng.bytes(-(-bits // 8)), "little") & high for _ in range(count)]
    small = [int(v) & high for v in rng.integers(-6, 7, count)]
    return (corners + [v if k % 2 else s for k, (v, s) in enumerate(zip(random, small))])[:count]


def to_array(values: list[int], declared: str) -> np.ndarray:
    dtype = parse_type(declared)
    natural = natural_dtype(dtype)
    if natural.names:
        raw = encode(np.array(values, object), dtype)
        size = natural.itemsize
        return np.ascontiguousarray(raw[..., :size]).view(natural).reshape(len(values))
    if not declared.startswith("u"):
        half = 1 << (dtype.bits - 1)
        values = [v - 2 * half if v >= half else v for v in values]
    return np.array(values, object).astype(natural)


def assert_same(expected: dict[str, np.ndarray], got: dict[str, np.ndarray]) -> None:
    wrong = []
    for name, want in expected.items():
        have = got[name]
        if want.dtype.kind == "f" or want.dtype == ml_dtypes.bfloat16:
            nan = np.isnan(want) & np.isnan(have)
            raw = f"u{want.dtype.itemsize}"
            same = (want.view(raw) == have.view(raw)) | nan
        else:
            same = want == have
        if not same.all():
            k = int(np.argmin(same))
            wrong.append(f"{name}[{k}]: CPU {want[k]!r}, csim {have[k]!r}")
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize(
    "widths",
    [(1, 7), (8, 31), (32, 33), (64, 90)],
    ids=lambda w: f"i{w[0]}-i{w[-1]}",
)
@TARGETS
def test_integer_operations_equal_the_cpu_build(widths, target):
    rng = np.random.default_rng(widths[0])
    groups = {}
    for position, bits in enumerate(widths):
        groups[f"w{bits}"] = integer_ops(bits, COUNT, signed=position == widths[0] % 2)
    text, arguments = module_text(groups)
    values = {}
    for name, declared in arguments:
        if name.endswith(("_x", "_y")):
            bits = parse_type(declared).bits
            numbers = integers(bits, COUNT, rng)
            if name.endswith("_y"):
                numbers = numbers[::-1] if bits > 3 else integers(bits, COUNT, rng)[::-1]
            values[name] = to_array(numbers, declared)
        else:
            values[name] = np.zeros(COUNT, natural_dtype(parse_type(declared)))
    assert_same(run("llvm", text, values), run(target, text, values))


SPECIALS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 127.0, 128.0, -128.0, -129.0, 255.0, 256.0]
SPECIALS += [np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40, 65504.0, 2.0**31, -(2.0**31), 2.0**63]
SPECIALS += [1e300, -1e300, 5e-324, 1e-310, 2.0**64, -(2.0**63), 1.0000001, 6e-8]


def floats(kind: str, rng: np.random.Generator) -> np.ndarray:
    dtype = natural_dtype(parse_type(kind))
    with np.errstate(over="ignore"):
        special = np.array(SPECIALS).astype(dtype)
    size = dtype.itemsize
    random = np.frombuffer(rng.bytes(size * COUNT), dtype)
    with np.errstate(over="ignore"):
        moderate = (rng.standard_normal(COUNT) * 100).astype(dtype)
    mixed = np.where(rng.random(COUNT) < 0.5, random, moderate).astype(dtype)
    return np.concatenate([special, mixed])[:COUNT].copy()


@TARGETS
def test_float_operations_equal_the_cpu_build(target):
    rng = np.random.default_rng(5)
    widths = (1, 7, 8, 16, 32, 33, 64, 100)
    groups = {k: float_ops(k, COUNT, widths) for k in ("f16", "bf16", "f32", "f64")}
    text, arguments = module_text(groups)
    values = {}
    for name, declared in arguments:
        if name.endswith("_x"):
            values[name] = floats(declared, rng)
        elif name.endswith("_y"):
            values[name] = rng.permutation(floats(declared, rng))
        else:
            values[name] = np.zeros(COUNT, natural_dtype(parse_type(declared)))
    assert_same(run("llvm", text, values), run(target, text, values))


@TARGETS
def test_random_programs_equal_the_cpu_build(target):
    rng = np.random.default_rng(77)
    groups = {f"p{k}": random_program(500 + k, COUNT) for k in range(6)}
    text, arguments = module_text(groups)
    values = {}
    for name, declared in arguments:
        dtype = parse_type(declared)
        if "_x" in name:
            values[name] = to_array(integers(dtype.bits, COUNT, rng), declared)
        else:
            values[name] = np.zeros(COUNT, natural_dtype(dtype))
    assert_same(run("llvm", text, values), run(target, text, values))
