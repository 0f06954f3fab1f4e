"""bind: what operations are made of, the same bits on every target."""

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import float16, float32, float64, int32
from tests.schedule.support import check_golden, refused


def blend(x: float32[16], y: float32[16], z: int32[16]):
    for i in range(16):
        y[i] = 2.5 * x[i] + y[i] - x[i] * y[i]
    for j in range(16):
        z[j] = z[j] * z[j]


def _arguments(seed):
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        x, y = (rng.integers(0, 2**32, 16, np.uint32).view(np.float32) for _ in "xy")
    z = rng.integers(-(2**31), 2**31, 16).astype(np.int32)
    return x, y, z


def _everything(s, impl):
    for op in ("fadd", "fmul", "mul"):
        s.bind(op, impl)


@pytest.mark.parametrize(
    ("impl", "operators", "dsp"),
    [
        ("dsp", {"fmul_f32": 1, "fadd_f32_dsp": 1, "mul_i32": 1}, 5),
        ("fabric", {"fmul_f32_fabric": 1, "fadd_f32": 1, "mul_i32_fabric": 1}, 0),
    ],
)
@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_units_and_bits(impl, operators, dsp, simulator):
    s = allo.customize(blend)
    _everything(s, impl)
    mod = s.build(target="verilog", simulator=simulator, clock_mhz=300)
    assert mod.report.functions[0].operators == operators
    assert mod.report.resources.get("dsp", 0) == dsp
    reference = allo.customize(blend).build()
    for seed in range(6):
        wanted, got = _arguments(seed), _arguments(seed)
        reference(*wanted)
        mod(*got)
        for left, right in zip(wanted, got, strict=True):
            same = (left.view(np.uint32) == right.view(np.uint32)) | (left != left) & (
                right != right
            )
            assert same.all()
        assert mod.cycles == mod.report.cycles


def test_the_cpu_and_csim_have_the_same_bits():
    s = allo.customize(blend)
    _everything(s, "dsp")
    built = [allo.customize(blend).build(), s.build(), s.build(target="vitis_hls", mode="csim")]
    results = []
    for mod in built:
        x, y, z = _arguments(3)
        mod(x, y, z)
        results.append((y.view(np.uint32), z))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0][0], other[0])
        np.testing.assert_array_equal(results[0][1], other[1])


def test_the_module_after_it():
    s = allo.customize(blend)
    s.bind("fadd", "dsp")
    s.bind("fmul", "dsp", axis="i")
    s.bind("mul", "fabric", axis="blend:j")
    s.bind("fmul", "fabric", func="blend")
    check_golden(s, "bind")


def doubles(x: float64[4], h: float16[4]):
    for i in range(4):
        x[i] = x[i] * x[i] - x[i]
    for i in range(4):
        h[i] = h[i] + h[i]


def test_pragmas():
    s = allo.customize(blend)
    _everything(s, "dsp")
    s.bind("mul", "packed")
    code = s.build(target="vhls").hls_code
    pragmas = [line.split("op=")[1] for line in code.splitlines() if "bind_op" in line]
    floats = ["fmul impl=fulldsp", "fadd impl=fulldsp", "fmul impl=fulldsp", "fsub impl=fulldsp"]
    assert pragmas == [*floats, "mul impl=dsp"]
    assert "float v1 = (float)2.500000 * v0;" in code
    assert "#pragma HLS bind_op variable=v1 op=fmul impl=fulldsp" in code
    s = allo.customize(doubles)
    s.bind("fadd", "fabric")
    s.bind("fmul", "fabric")
    code = s.build(target="vhls").hls_code
    pragmas = [line.split("op=")[1] for line in code.splitlines() if "bind_op" in line]
    assert pragmas == ["dmul impl=fabric", "dsub impl=fabric", "hadd impl=fabric"]
    assert "bind_op" not in s.build(target="catapult").hls_code


def scale(v: float32[8]):
    for k in range(8):
        v[k] = v[k] * 3.0


def outer(v: float32[8], w: float32[8]):
    scale(v)
    for i in range(8):
        w[i] = v[i] * w[i]


def test_a_function_with_all_that_it_calls():
    s = allo.customize(outer)
    s.bind("fmul", "fabric")
    assert str(s.module).count('bind = "fabric"') == 2
    assert s.build(target="verilog", simulator="jit").report.resources.get("dsp", 0) == 0


def test_compose_replays_it():
    inner = allo.customize(scale)
    inner.bind("fmul", "fabric", axis="k")
    inner.bind("fmul", "fabric")
    s = allo.customize(outer)
    s.compose(inner)
    assert str(s.module).count('bind = "fabric"') == 1
    assert s.build(target="verilog", simulator="jit").report.resources["dsp"] == 2


def test_later_primitives_keep_it():
    s = allo.customize(blend)
    s.bind("fmul", "fabric")
    s.split("i", 4)
    s.unroll("i.inner")
    s.bind("mul", "fabric")
    s.split("j", 3)
    report = s.build(target="verilog", simulator="jit").report
    assert report.resources.get("dsp", 0) == 0 and report.functions[0].operators["fmul_f32_fabric"]


@pytest.mark.parametrize(
    ("call", "error", "pattern"),
    [
        (
            ("fad", "dsp"),
            ScheduleError,
            r"bind: there is no kind of operation 'fad'\.\nhelp: did you mean 'fadd'\? it is one of "
            r"fadd, fmul, mul, frem\.",
        ),
        (
            ("fadd", "packed"),
            ScheduleError,
            r"bind fadd: there is no implementation 'packed'\.\nhelp: it is one of dsp, fabric\.",
        ),
        (
            ("frem", "dsp"),
            ScheduleError,
            r"bind frem: there is no implementation 'dsp'\.\nhelp: it is one of iterated, pipelined\.",
        ),
        (
            ("frem", "pipelined"),
            ScheduleError,
            r"there is no remainder of floats in function blend",
        ),
        (("mul", "lut"), ScheduleError, r"bind mul: there is no implementation 'lut'\..*packed"),
        (
            ("mul", "dsp", "i"),
            ScheduleError,
            r"test_bind\.py:\d+:\d+: bind mul: there is no multiplication of integers in loop i\.",
        ),
        (
            ("fmul", "dsp", "i", "scale"),
            ScheduleError,
            r"bind: loop i is one of function outer, not of scale\..*name the loop as",
        ),
        (("fmul", "dsp", "q"), ScheduleError, r"q"),
        (("fmul", "dsp", None, "blond"), ScheduleError, r"Function blond not found\."),
        ((3, "dsp"), ScheduleError, r"bind: there is no kind of operation 3\."),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_what_is_refused(call, error, pattern):
    s = allo.customize(outer if call[-1] == "scale" else blend)
    refused(s, error, pattern, lambda: s.bind(*call))
