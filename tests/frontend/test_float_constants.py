"""Float constants out of an integer's range: folded as they are converted at run time."""

import pytest

import allo
from allo.ir.types import Float, Int, UInt


def constant[T]() -> "T":
    x: T = VALUE
    return x


def converted[T](v: "float64") -> "T":
    x: T = v
    return x


@pytest.mark.parametrize("value", (300.0, -300.75, 4e17, -4e17, 1e300, -0.5, 127.9))
@pytest.mark.parametrize("dtype", (Int(8), UInt(8), Int(33), UInt(1), UInt(64), Int(100)), ids=str)
def test_a_constant_is_what_the_operation_gives(value: float, dtype: Int | UInt) -> None:
    names = {"VALUE": value, "float64": Float(64)}
    folded = allo.customize(constant, instantiate=[dtype], global_vars=names).build()()
    run = allo.customize(converted, instantiate=[dtype], global_vars=names).build()(value)
    high = (1 << dtype.bits - isinstance(dtype, Int)) - 1
    low = -high - 1 if isinstance(dtype, Int) else 0
    assert folded == run == max(low, min(high, int(value)))
