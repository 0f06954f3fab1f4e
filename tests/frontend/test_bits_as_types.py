"""``x.bitcast(T)`` on every target, casts by a type that is formed in place, and types formed wrongly."""

import numpy as np
import pytest

import allo
from allo.errors import AlloError, DTypeError
from allo.ir.types import Fixed, Float, Int, Struct, UFixed, UInt, float32, int16, uint16, uint32

U, S = UFixed(16, 11), Fixed(16, 4)
TARGETS = {
    "oracle": allo.interpret,
    "cpu": lambda k: allo.customize(k).build(),
    "csim": lambda k: allo.customize(k).build(target="vhls", mode="csim"),
    "jit": lambda k: allo.customize(k).build(target="verilog", simulator="jit"),
}


def reread(
    x: uint16[6], u: U[6], s: S[6], i: int16[6], f: float32[6], back: uint32[6], low: int16[6]
):
    for k in range(6):
        u[k] = x[k].bitcast(U)
        s[k] = UInt(16)(x[k]).bitcast(S)
        i[k] = s[k].bitcast(Int(16))
        f[k] = (uint32(x[k]) << 16).bitcast(float32)
        back[k] = f[k].bitcast(UInt(32))
        low[k] = Int(5)(x[k])


@pytest.mark.parametrize("target", TARGETS)
def test_bits_are_read_as_the_named_type(target):
    x = np.array([0, 1, 0x3F80, 54194, 0x7F7F, 0x8000], np.uint16)
    u, s, f = np.zeros(6), np.zeros(6), np.zeros(6, np.float32)
    i, low = np.zeros(6, np.int16), np.zeros(6, np.int16)
    back = np.zeros(6, np.uint32)
    TARGETS[target](reread)(x, u, s, i, f, back, low)
    wide = x.astype(np.uint32) << 16
    np.testing.assert_array_equal(u, x / 2048)
    np.testing.assert_array_equal(s, x.view(np.int16) / 16)
    np.testing.assert_array_equal(i, x.view(np.int16))
    np.testing.assert_array_equal(f, wide.view(np.float32))
    np.testing.assert_array_equal(back, wide)
    np.testing.assert_array_equal(low, (x.astype(int) % 32 + 16) % 32 - 16)


def test_widths_that_differ_and_types_without_bits_are_refused():
    def narrow(x: uint16) -> UInt(8):
        return x.bitcast(UInt(8))

    def no_type(x: uint16) -> uint16:
        return x.bitcast(3)

    for kernel, words in ((narrow, "keeps every bit"), (no_type, "no bits to read")):
        with pytest.raises(AlloError, match=words) as error:
            allo.customize(kernel)
        assert error.value.help
    for kernel in (narrow, no_type):
        with pytest.raises(AlloError):
            allo.interpret(kernel)(3)


@pytest.mark.parametrize(
    "form", [lambda: Fixed(8), lambda: UInt(), lambda: Int(8, 3), lambda: Float(), lambda: Struct()]
)
def test_a_type_formed_with_the_wrong_arguments_is_a_named_error(form):
    with pytest.raises(DTypeError, match="No type is formed by") as error:
        form()
    assert "takes (" in error.value.help
