"""exp, log, sin … against the host's libraries: correctly rounded, with C99's special cases."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from allo.interpret.running import elementary
from allo.interpret.running.elementary import apply, power
from allo.interpret.running.formats import FORMATS, INF, NAN

from .test_formats import same

HOST: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "erf": math.erf,
    "rsqrt": lambda x: float(1 / np.sqrt(np.longdouble(x))),
}
POSITIVE = ("log", "log2", "log10", "rsqrt")


def arguments(name: str, count: int = 150) -> list[float]:
    """Numbers where the function varies, tiny ones, and large ones for the circular functions."""
    rng = random.Random(name)
    found = [rng.uniform(-8, 8) for _ in range(count)]
    found += [rng.uniform(-1, 1) * 2.0 ** rng.randrange(-40, 2) for _ in range(count)]
    if name in ("sin", "cos", "tan"):
        found += [rng.uniform(1, 2) * 2.0 ** rng.randrange(5, 100) for _ in range(count)]
        found += [k * math.pi / 2 for k in range(1, 60)]
    single = [float(np.float32(x)) for x in found]
    return [abs(x) for x in single] if name in POSITIVE else single


@pytest.mark.parametrize("name", HOST)
def test_float32_is_the_rounded_float64(name: str) -> None:
    """Rounding the host's float64 again gives the same, but where that lies at a middle."""
    form, missed = FORMATS["f32"], 0
    for x in arguments(name):
        found, wanted = apply(name, x, form), float(np.float32(HOST[name](x)))
        missed += found != wanted
        assert abs(found - wanted) <= abs(float(np.spacing(np.float32(wanted))))
    assert missed <= 1


@pytest.mark.parametrize("name", HOST)
def test_float64_is_next_to_the_host(name: str) -> None:
    for x in arguments(name):
        found, wanted = apply(name, x, FORMATS["f64"]), HOST[name](x)
        assert abs(found - wanted) <= math.ulp(wanted), x


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        ("exp", -INF, 0.0),
        ("exp", INF, INF),
        ("exp", 89.0, INF),
        ("exp", -0.0, 1.0),
        ("log", 0.0, -INF),
        ("log", -1.0, NAN),
        ("log2", 2.0**-149, -149.0),
        ("log10", 1000.0, 3.0),
        ("sin", -0.0, -0.0),
        ("cos", INF, NAN),
        ("tanh", -INF, -1.0),
        ("tanh", -0.0, -0.0),
        ("erf", 30.0, 1.0),
        ("rsqrt", -0.0, -INF),
        ("rsqrt", 0.25, 2.0),
        ("rsqrt", INF, 0.0),
    ],
)
def test_special_values(name: str, x: float, wanted: float) -> None:
    assert same(apply(name, x, FORMATS["f32"]), wanted)
    assert math.isnan(apply(name, NAN, FORMATS["f32"]))


def host_power(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(x), np.float64(y)))


def test_powers_as_c99_has_them() -> None:
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.75, -0.75, 3.0, -3.0, 2.5, INF, -INF, NAN, 1e300]
    for x, y in product(values, values):
        found, wanted = power(x, y, FORMATS["f64"]), host_power(x, y)
        near = math.isfinite(wanted) and abs(found - wanted) <= math.ulp(wanted) and wanted != 0
        assert near or same(found, wanted), (x, y)


def test_powers_round_correctly() -> None:
    rng, form = random.Random(3), FORMATS["f32"]
    for _ in range(300):
        x, y = (float(np.float32(v)) for v in (rng.uniform(0, 50), rng.uniform(-9, 9)))
        assert power(x, y, form) == float(np.float32(host_power(x, y)))


def test_a_wrong_function_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    near = elementary._UNARY["exp"]
    wrong = {**elementary._UNARY, "exp": lambda x, form: near(x, form) * (1 + 2.0**-23)}
    monkeypatch.setattr(elementary, "_UNARY", wrong)
    with pytest.raises(AssertionError):
        test_float32_is_the_rounded_float64("exp")
