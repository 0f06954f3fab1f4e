"""The Python boundary: conversions, in-place results, returned values, and what is refused."""

from __future__ import annotations

import re
import warnings

import ml_dtypes
import numpy as np
import pytest

from allo.backend.cpu import LLVMModule
from allo.dialects.boundary.storage import get_np_struct_type
from allo.dialects.diagnostics import BoundaryError, BuildError, DTypeWarning

from .kernels import attributes, elementwise, mlir


def copy_kernel(declared: str, count: int = 6) -> LLVMModule:
    """``b[i] = a[i]``."""
    code = f"%z = arith.constant 0 : i1\n%b = arith.select %z, %a, %a : {mlir(declared)}"
    return LLVMModule(elementwise({"a": declared}, {"b": (declared, code)}, count), "f")


def scalar_kernel(declared: str) -> LLVMModule:
    """Returns its argument."""
    kind = mlir(declared)
    text = f"""func.func @f(%x: {kind} loc("user.py":7:11)) -> {kind}
        attributes {{{attributes(["x"], [declared], [declared])}}} {{
      return %x : {kind}
    }}"""
    return LLVMModule(text, "f")


def returning_kernel(types: list[str], results: str, body: str) -> LLVMModule:
    return LLVMModule(
        f"func.func @f() -> {results} attributes {{{attributes([], [], types)}}} {{\n{body}\n}}",
        "f",
    )


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        ("i3", np.int8),
        ("ui9", np.uint16),
        ("i33", np.int64),
        ("ui1", np.bool_),
        ("i1", np.int8),
        ("f16", np.float16),
        ("bf16", ml_dtypes.bfloat16),
        ("f64", np.float64),
        ("ui100", get_np_struct_type(100)),
        ("fixed(8, 3)", np.float64),
    ],
)
def test_a_returned_array_has_the_natural_dtype(declared: str, dtype: type):
    kind = mlir(declared)
    zero = "0" if kind.startswith("i") else "0.0"
    body = (
        f'%0 = memref.alloc() {{name = "r"}} : memref<2x3x{kind}>\n'
        f"%c = arith.constant {zero} : {kind}\n"
        f"linalg.fill ins(%c : {kind}) outs(%0 : memref<2x3x{kind}>)\n"
        f"return %0 : memref<2x3x{kind}>"
    )
    result = returning_kernel([declared], f"memref<2x3x{kind}>", body)()
    assert result.dtype == np.dtype(dtype)
    assert result.tobytes() == np.zeros((2, 3), dtype).tobytes()


def test_values_wrap_to_odd_widths_and_come_back_in_place():
    module = copy_kernel("i3")
    b = np.zeros(6, np.int8)
    assert module(np.array([0, 3, 4, 7, -1, -5], np.int8), b) is None
    np.testing.assert_array_equal(b, [0, 3, -4, -1, -1, 3])


def test_a_converted_array_is_written_back_and_warned_about():
    module = copy_kernel("i8")
    b = np.zeros(6, np.float32)
    with pytest.warns(
        DTypeWarning, match=r"Argument b of f is declared i8\[6\] but the array holds float32"
    ):
        module(np.arange(6, dtype=np.int8), b)
    np.testing.assert_array_equal(b, np.arange(6, dtype=np.float32))


def test_an_input_is_never_changed_by_conversion():
    module = copy_kernel("f32")
    a = np.array([1e-300, 1 / 3, 2, 3, 4, 5])
    keep = a.copy()
    b = np.zeros(6, np.float32)
    with pytest.warns(DTypeWarning):
        module(a, b)
    np.testing.assert_array_equal(a, keep)
    np.testing.assert_array_equal(b, keep.astype(np.float32))
    a.flags.writeable = False
    with pytest.warns(DTypeWarning):
        module(a, b)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64, np.float16, np.bool_, object])
def test_any_numeric_dtype_converts_to_float(dtype: type):
    module = copy_kernel("f32")
    a = np.array([0, 1, 1, 0, 1, 0]).astype(dtype)
    b = np.zeros(6, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DTypeWarning)
        module(a, b)
    np.testing.assert_array_equal(b, [0, 1, 1, 0, 1, 0])


def test_wide_integers_as_structures_and_as_python_integers():
    module = copy_kernel("i100")
    values = [0, -1, 2**99 - 1, -(2**99), 12345678901234567890123, -5]
    a, b = np.array(values, object), np.array([None] * 6, object)
    b[:] = 0
    module(a, b)
    assert list(b) == values
    raw = np.zeros(6, get_np_struct_type(100))
    module(a, raw)
    got = [int.from_bytes(v.tobytes(), "little", signed=True) for v in raw]
    assert got == values


def test_fixed_point_is_scaled_both_ways():
    module = copy_kernel("fixed(8, 3)")
    b = np.zeros(6)
    module(np.array([1.125, -2.25, 5.375, 15.99, -16.0, 16.0]), b)
    np.testing.assert_array_equal(b, [1.125, -2.25, 5.375, 15.875, -16.0, -16.0])
    single = np.zeros(6, np.float32)
    module(np.array([1, 2, 3, -4, 5, 6]), single)
    np.testing.assert_array_equal(single, np.array([1, 2, 3, -4, 5, 6], np.float32))


@pytest.mark.parametrize(
    ("declared", "value", "want"),
    [
        ("i32", 7, 7),
        ("i32", np.int8(-7), -7),
        ("i32", np.array(5), 5),
        ("ui200", 2**200 - 3, 2**200 - 3),
        ("i200", -(2**150), -(2**150)),
        ("index", 12, 12),
        ("ui1", True, 1),
        ("f32", 3, 3.0),
        ("f64", 2**80, 2.0**80),
        ("f32", np.float64(0.1), float(np.float32(0.1))),
        ("f16", 65520, float("inf")),
        ("bf16", 1.00390625, 1.0),
        ("i16", 3.0, 3),
        ("fixed(16, 4)", -2.5, -2.5),
    ],
)
def test_scalars_convert_by_value(declared: str, value: object, want: object):
    got = scalar_kernel(declared)(value)
    assert got == want
    assert type(got) is (float if "f" in declared else int)


@pytest.mark.parametrize(("declared", "value"), [("i8", 200), ("ui8", -1)])
def test_a_scalar_out_of_range_is_refused(declared: str, value: int):
    with pytest.raises(BoundaryError, match=f"{value} is out of range, which is "):
        scalar_kernel(declared)(value)


def test_a_fraction_given_to_an_integer_warns():
    with pytest.warns(DTypeWarning, match=r"Argument x of f is declared i32: 2\.75 becomes 2\."):
        assert scalar_kernel("i32")(2.75) == 2


def test_several_results_come_as_a_list():
    body = """%a = memref.alloc() {name = "a"} : memref<4xi7>
      %c = arith.constant -3 : i7
      linalg.fill ins(%c : i7) outs(%a : memref<4xi7>)
      %x = arith.constant 2.5 : f32
      return %a, %x, %a : memref<4xi7>, f32, memref<4xi7>"""
    result = returning_kernel(["i7", "f32", "ui7"], "(memref<4xi7>, f32, memref<4xi7>)", body)()
    assert isinstance(result, list)
    np.testing.assert_array_equal(result[0], np.full(4, -3, np.int8))
    assert result[1] == 2.5
    np.testing.assert_array_equal(result[2], np.full(4, 125, np.uint8))


def test_a_returned_argument_is_a_copy():
    text = f"""func.func @f(%a: memref<4xi32>) -> memref<4xi32>
        attributes {{{attributes(["a"], ["i32"], ["i32"])}}} {{
      return %a : memref<4xi32>
    }}"""
    module = LLVMModule(text, "f")
    a = np.arange(4, dtype=np.int32)
    result = module(a)
    np.testing.assert_array_equal(result, a)
    result[0] = 9
    assert a[0] == 0


def test_any_length_is_accepted_where_the_extent_is_open():
    text = f"""func.func @f(%a: memref<?xi32>, %n: i32)
        attributes {{{attributes(["a", "n"], ["i32", "i32"], [])}}} {{
      %m = arith.index_cast %n : i32 to index
      affine.for %i = 0 to %m {{
        %x = affine.load %a[%i] : memref<?xi32>
        %y = arith.muli %x, %x : i32
        affine.store %y, %a[%i] : memref<?xi32>
      }}
      return
    }}"""
    module = LLVMModule(text, "f")
    for count in (1, 7, 1000):
        a = np.arange(count, dtype=np.int32)
        module(a, count)
        np.testing.assert_array_equal(a, np.arange(count, dtype=np.int32) ** 2)


DECLARED = r"Argument b of f, declared i8\[6\]: "


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ([1, 2], DECLARED + r"expected a NumPy array, got list\."),
        (3, DECLARED + r"expected a NumPy array, got int\."),
        (np.zeros((2, 3), np.int8), DECLARED + r"got an array of shape \(2, 3\)\."),
        (np.zeros(7, np.int8), DECLARED + r"got an array of shape \(7,\)\."),
        (np.zeros(12, np.int8)[::2], DECLARED + r"the input data is not contiguous\."),
        (np.array(["x"] * 6), DECLARED + r"An array of <U1 has no values of type i8\."),
        (np.full(6, np.nan), DECLARED + r"NaN or infinity cannot become i8\."),
    ],
)
@pytest.mark.filterwarnings("ignore::allo.dialects.diagnostics.DTypeWarning")
def test_a_wrong_array_is_named(argument: object, message: str):
    with pytest.raises(BoundaryError, match=message):
        copy_kernel("i8")(np.zeros(6, np.int8), argument)


def test_a_read_only_result_is_refused():
    b = np.zeros(6, np.int8)
    b.flags.writeable = False
    with pytest.raises(
        BoundaryError, match=DECLARED + "the kernel writes this array, but it is read-only"
    ):
        copy_kernel("i8")(np.zeros(6, np.int8), b)


@pytest.mark.parametrize("value", ["7", None, np.zeros(1), 1j])
def test_a_wrong_scalar_is_named_with_its_declaration(value: object):
    with pytest.raises(BoundaryError) as caught:
        scalar_kernel("i8")(value)
    kind = type(value).__name__
    assert re.match(
        rf"user\.py:7:11: Argument x of f, declared i8: expected a number, got {kind}\.\n"
        r"help: pass a Python or NumPy scalar\.",
        str(caught.value),
    )


def test_the_count_of_arguments_is_checked():
    with pytest.raises(
        BoundaryError, match="# of input arguments mismatch, got 1 but expected 2"
    ) as caught:
        copy_kernel("i8")(np.zeros(6, np.int8))
    assert caught.value.help == "f takes a: i8[6], b: i8[6]."


def test_an_infinite_value_for_an_integer_is_refused():
    with pytest.raises(BoundaryError, match="inf is not an integer"):
        scalar_kernel("i32")(float("inf"))


def test_an_unknown_top_names_the_functions():
    with pytest.raises(BuildError, match="no function 'nope'") as caught:
        LLVMModule(elementwise({"a": "i8"}, {}, 4), "nope")
    assert caught.value.help == "its functions: f."


def test_text_that_does_not_parse_is_a_build_error():
    with pytest.raises(BuildError, match="does not parse"):
        LLVMModule("func.func @f( {", "f")
