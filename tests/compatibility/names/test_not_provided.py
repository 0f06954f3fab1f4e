"""Published helpers of another compiler's inside: they are imported, and say what does their work."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.report import parse_js
from allo.dataflow import _build_top, move_stream_to_interface, remove_unused_func_ops
from allo.errors import HandleTypeError, NotProvidedError
from allo.ir.types import Stream, int32
from allo.passes import analyze_use_def


@df.region()
def pair(A: int32[4], B: int32[4]):
    pipe: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def give(a: int32[4]):
        for i in range(4):
            pipe.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[4]):
        for i in range(4):
            b[i] = pipe.get() + 1


@pytest.mark.parametrize(
    ("helper", "name", "instead"),
    [
        (analyze_use_def, "allo.passes.analyze_use_def", "s.get_equivalent_variables(…) gives"),
        (parse_js, "allo.backend.report.parse_js", "parse_xml reads reports"),
        (move_stream_to_interface, "df.move_stream_to_interface", "the kernels of s.module take"),
        (_build_top, "df._build_top", "the top function of s.module calls every kernel"),
        (remove_unused_func_ops, "df.remove_unused_func_ops", "every build leaves out"),
    ],
)
def test_a_helper_says_what_does_its_work(helper, name, instead):
    with pytest.raises(NotProvidedError) as caught:
        helper(df.customize(pair).module, enable_layout=False)
    assert isinstance(caught.value, NotImplementedError)
    assert caught.value.message.startswith(f"{name} ") and caught.value.message.endswith(".")
    assert caught.value.help.startswith(instead)
    assert helper.__name__ == name.rpartition(".")[2]


def test_what_the_help_promises_is_so():
    s = df.customize(pair)
    text = str(s.module)
    assert 'arg_names = ["a", "pipe"], arg_types = ["i32", "stream<i32, 4>"]' in text
    assert s.top_func.name.value == "pair"
    assert text.count("call @give_0") == text.count("call @take_0") == 1


@pytest.mark.parametrize("target", ["simulator", "vhls", "verilog"])
def test_the_default_primitives_are_those_of_opt_default(target):
    s = df.customize(pair)
    df.df_primitive_default(s)
    assert str(s.module) == str(df.customize(pair, opt_default=True).module)
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    s.build(target=target, **({"simulator": "jit"} if target == "verilog" else {}))(a, b)
    np.testing.assert_array_equal(b, a + 1)


@pytest.mark.parametrize(
    "name",
    [
        "analyze_arg_load_store",
        "analyze_arg_load_store_in_func",
        "df_pipeline",
        "generate_input_output_buffers",
    ],
)
@pytest.mark.parametrize(("given", "said"), [(3, "not 3."), ("func.func", "not 'func.func'.")])
def test_a_pass_takes_what_is_of_mlir(name, given, said):
    function = getattr(allo.passes, name)
    others = ["top"] if "buffers" in name else []
    with pytest.raises(
        HandleTypeError, match=f"allo.passes.{name} takes a module of MLIR"
    ) as caught:
        function(given, *others)
    assert caught.value.message.endswith(said)
    assert caught.value.help.startswith("s.module of a schedule is one")
    assert "module" in inspect.signature(function).parameters or "func" in str(
        inspect.signature(function)
    )
