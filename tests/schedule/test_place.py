"""place: which memory an argument lies in; results stay, masters and models of channels follow."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.sim import external_memory
from allo.errors import BuildError, OptionError, PlacementError
from allo.ir.types import int32


def axpy(a: int32, A: int32[64], B: int32[64]):
    for i in allo.grid(64):
        B[i] = B[i] + a * A[i]


def top(a: int32, X: int32[64], Y: int32[64]):
    axpy(a, X, Y)


def both(a: int32, X: int32[64], Y: int32[64]):
    axpy(a, X, Y)
    axpy(a, Y, X)


def local(A: int32[8], B: int32[8]):
    c: int32[8]
    for i in range(8):
        c[i] = A[i]
    for j in range(8):
        B[j] = c[j]


MANY = 33
TEXT = "\n".join(
    [
        f"def many({', '.join(f'A{n}: int32[2]' for n in range(MANY))}):",
        *(f"    A{n}[0] = A{n}[1]" for n in range(MANY)),
    ]
)


def placed(kernel=axpy, **where):
    s = allo.customize(kernel)
    for name, memory in where.items():
        s.place(getattr(s, name), memory)
    return s


def run(mod):
    """The module after a call, whose elements must be those that NumPy has."""
    A, B = np.arange(128, dtype=np.int32).reshape(2, 64).copy()
    expected = B + 3 * A
    mod(3, A, B)
    np.testing.assert_array_equal(B, expected)
    return mod


def test_results_are_the_same_on_every_target_and_channels_move_the_bytes():
    s = placed(A="hbm[0:4]", B="ddr[1]")
    run(s.build())
    plain, text = (each.build(target="vhls").hls_code for each in (placed(), s))
    assert text == plain
    for timing in ("ideal", "dram"):
        mod = run(s.build(target="verilog", simulator="jit", memory=timing))
        moved = {name: (c.bytes, c.timing) for name, c in mod.traffic.channels.items()}
        expected = {f"hbm2[{n}]": (64, timing) for n in range(4)} | {"ddr4_2400[1]": (512, timing)}
        assert moved == expected
        assert mod.design.board is None
        assert (mod.transfers.moved, mod.transfers.whole) == (768, 3 * 256)
        assert mod.transfers.limit == "compute"
        assert str(mod.transfers).startswith(
            "768 bytes moved, 768 of whole arrays; ddr4_2400[1] moves "
        )


def test_one_channel_is_one_axi_master_of_the_wrapper_and_of_vitis(tmp_path):
    s = placed(A="hbm[2]", B="hbm[2]")
    asked = {
        "interface": {
            "A": {"kind": "m_axi", "bundle": "hbm2"},
            "B": {"kind": "m_axi", "bundle": "hbm2"},
        }
    }
    memory = dict.fromkeys("AB", external_memory("hbm2", clock_mhz=200)[2])
    said = allo.customize(axpy).build(target="verilog", simulator="jit", memory=memory, **asked)
    mod = run(s.build(target="verilog", simulator="jit"))
    assert mod.verilog == said.verilog
    assert [master.bundle for master in mod.design.board.masters] == ["hbm2"]
    assert mod.traffic.channels["hbm2"].bytes >= 3 * 4 * 64
    s = placed(A="hbm[0:4]", B="hbm[3]")
    mod = run(s.build(target="verilog", simulator="jit"))
    assert [master.bundle for master in mod.design.board.masters] == [f"hbm{n}" for n in range(4)]
    s = placed(A="hbm[0:4]", B="on_chip")
    mod = s.build(target="vitis_hls", mode="hw_emu", project=str(tmp_path / "p"))
    assert all(f"m_axi port=A_{n} offset=slave bundle=hbm{n} " in mod.hls_code for n in range(4))
    assert "m_axi port=B offset=slave bundle=gmem4" in mod.hls_code
    lines = [f"sp=axpy_1.A_{n}:HBM[{n}]\n" for n in range(4)]
    assert (tmp_path / "p/axpy.cfg").read_text() == "[connectivity]\n" + "".join(lines)


def test_a_channel_that_a_dict_names_is_that_of_the_arrays_placed_on_it_too():
    s = placed(A="hbm[0]", B="hbm[0:2]")
    hbm = external_memory("hbm2", clock_mhz=300, timing="dram")
    mod = run(s.build(target="verilog", simulator="jit", memory={"A": hbm[0]}))
    assert {c.timing for c in mod.traffic.channels.values()} == {"dram"}
    assert list(mod.traffic.channels) == ["hbm2[0]", "hbm2[1]"]


def test_an_argument_of_a_callee_is_the_array_of_the_call_and_compose_replays():
    inner = placed(B="hbm[1]")
    s = allo.customize(top)
    s.place("axpy:A", "ddr[0]")
    s.compose(inner)
    assert 'placements = {X = "ddr[0]", Y = "hbm[1]"}' in str(s.module)


def test_arguments_that_take_turns_in_a_callee_lie_where_they_are_placed():
    def turns(A: int32[32], B: int32[32]):
        for _ in range(2):
            step(A, B)
            step(B, A)

    def step(X: int32[32], Y: int32[32]):
        for i in range(1, 31):
            Y[i] = X[i - 1] + X[i + 1]

    s = allo.customize(turns)
    s.place(s.A, "hbm[0]")
    s.place("turns:B", "hbm[1]")
    mod = s.build(target="verilog", simulator="jit")
    assert [master.bundle for master in mod.design.board.masters] == ["hbm0", "hbm1"]
    A, B = np.arange(64, dtype=np.int32).reshape(2, 32) ** 2
    ours = A.copy(), B.copy()
    s.build()(A, B)
    mod(*ours)
    assert np.array_equal(ours, (A, B))


@pytest.mark.parametrize(
    ("kernel", "array", "where", "text"),
    [
        (axpy, "axpy:A", "hmb[1]", "A cannot lie in 'hmb[1]': there is no kind of memory 'hmb'."),
        (axpy, "axpy:A", "onchip", "A cannot lie in 'onchip': that is no place."),
        (axpy, "axpy:A", "hbm[3:3]", "A cannot lie in 'hbm[3:3]': that range holds no channel."),
        (axpy, "axpy:A", 3, "A cannot lie in 3: that is no place."),
        (local, "local:c", "hbm[0]", "c of local is no array argument of local"),
        (both, "axpy:A", "hbm[0]", "A of axpy is X and Y of both, which may lie in two places."),
    ],
)
def test_refusals(kernel, array, where, text):
    s = allo.customize(kernel)
    with pytest.raises(PlacementError) as caught:
        s.place(array, where)
    assert f"place: {text}" in str(caught.value)
    assert f"{__file__.rsplit('/', 1)[1]}:" in str(caught.value)
    assert ("did you mean 'hbm'?" in str(caught.value)) == (where == "hmb[1]")
    assert "placements" not in str(s.module)


def test_an_array_lies_in_one_place():
    s = placed(top, X="hbm[0]")
    s.place(s.X, "hbm[0]")
    with pytest.raises(PlacementError) as caught:
        s.place("axpy:A", "on_chip")
    assert (
        "place: A of axpy, which is X of top, cannot lie in on_chip: it was placed in hbm[0] before."
        in str(caught.value)
    )


CHANNEL = external_memory("hbm2", clock_mhz=200)[0]


@pytest.mark.parametrize(
    ("where", "options", "text"),
    [
        (
            {"A": "hbm[32]"},
            {"target": "vitis_hls"},
            "A lies in hbm[32], which a U280 does not have.",
        ),
        ({"A": "hbm[32]"}, {}, "A lies in hbm[32], which a U280 does not have."),
        ({"A": "hbm[32]"}, {"device": "generic"}, "A lies in hbm[32], and hbm has 32 channels."),
        (
            {"A": "hbm[0]"},
            {"device": "ecp5"},
            "A lies in hbm[0], and the device LFE5U-85F has no HBM.",
        ),
        (
            {"A": "hbm[0]"},
            {"target": "vitis_hls", "device": "zedboard"},
            "A lies in hbm[0], and the device zedboard has no HBM.",
        ),
        (
            {"A": "hbm[0:3]"},
            {},
            "A lies in hbm[0:3], 3 channels, and a wrapper for boards takes 1, 2, 4, 8 and so on",
        ),
        (
            {"A": "hbm[0]"},
            {"interface": {"A": "axis"}},
            "A lies in hbm[0], and is asked to have the",
        ),
        (
            {"A": "on_chip"},
            {"interface": {"A": "m_axi"}},
            "A lies on chip, and is asked to have the",
        ),
        (
            {"A": "on_chip"},
            {"memory": {"A": CHANNEL}},
            "A lies on chip, and memory= gives it channels",
        ),
        (
            {"A": "hbm[0]"},
            {"target": "vitis_hls", "hbm_mapping": {"A": 3}},
            "A lies in hbm[0], and hbm_mapping gives it 'HBM[3]'.",
        ),
        (
            {"A": "hbm[0]", "B": "hbm[1]"},
            {"interface": dict.fromkeys("AB", {"kind": "m_axi", "bundle": "g"})},
            "A and B are in bundle g, and lie in hbm[0] and hbm[1].",
        ),
        (
            {},
            {"memory": "dram"},
            "Option memory is 'dram', and no array is placed in external memory.",
        ),
    ],
)
def test_builds_refuse_what_goes_not_together(where, options, text):
    s = placed(**where)
    with pytest.raises((PlacementError, OptionError)) as caught:
        s.build(**{"target": "verilog", **options})
    assert text in str(caught.value)
    assert "help: " in str(caught.value)


def test_parts_of_arrays_count_as_masters_and_arrays_of_one_channel_as_one():
    device = {"target": "verilog", "simulator": "jit"}
    s = placed(A="hbm[0:32]", B="hbm[7]")
    assert len(s.build(**device).design.board.masters) == 32
    s = placed(A="hbm[0:32]", B="ddr[0]")
    with pytest.raises(PlacementError) as caught:
        s.build(**device)
    assert "axpy has 33 AXI masters, and a U280 takes 32." in str(caught.value)
    assert "help: place several arrays in one channel" in str(caught.value)


def test_a_card_takes_so_many_masters(tmp_path):
    path = tmp_path / "many.py"
    path.write_text(f"from allo.ir.types import int32\n{TEXT}\n")
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    text = f"many has {MANY} AXI masters, and a U280 takes 32."
    for options in ({"target": "verilog", "interface": "m_axi"}, {"target": "vitis_hls"}):
        s = allo.customize(scope["many"])
        s.place(s.A0, "hbm[0]")
        with pytest.raises((PlacementError, BuildError)) as caught:
            s.build(**options)
        assert text in str(caught.value)
    s.place(s.A1, "hbm[0]")
    assert "bundle=hbm0" in s.build(target="vitis_hls").hls_code
