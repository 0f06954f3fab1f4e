"""What csim prints: wide integers, texts with zeros, and the digits of a float."""

import pytest

import allo
from allo.ir.types import Int, UInt, float64, int32

WIDE = [-(1 << 64) + 5, -(1 << 99), (1 << 99) - 1, 0]


def shown(d: Int(100), e: UInt(130), x: float64, k: int32):
    print("d", d)
    print("e", e, "%")
    print("x", x)
    print("a\0b", k, "c\0d")


@pytest.mark.parametrize("target", ["vhls", "catapult"])
def test_csim_prints_what_the_cpu_prints(capfd, target):
    runs = [allo.customize(shown).build(), allo.customize(shown).build(target=target, mode="csim")]
    found = []
    for run in runs:
        for value in WIDE:
            run(value, (1 << 130) - 1 - (value % 7), 1234567890.125, -3)
        found.append(capfd.readouterr().out)
    assert found[0] == found[1]
    assert "a\0b" in found[0] and f"d {WIDE[1]}\n" in found[0]
