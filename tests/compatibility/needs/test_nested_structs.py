"""Structs whose fields are Structs: locals, arrays, arguments, results, streams, copies, at the boundary."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import TypeMismatchError
from allo.ir.types import Fixed, Int, Stream, Struct, UInt, float32, int8, int32, uint8
from tests.compatibility.everywhere import EVERYWHERE, build

Point = Struct({"x": int32, "y": Int(12)})
Segment = Struct({"start": Point, "end": Point, "weight": float32})
Deep = Struct(
    {"tag": UInt(3), "inner": Struct({"low": Int(5), "more": Struct({"v": Fixed(9, 4)})})}
)

POINT = np.dtype([("x", np.int32), ("y", np.int16)])
SEGMENT = np.dtype([("start", POINT), ("end", POINT), ("weight", np.float32)])
DEEP = np.dtype([("tag", np.uint8), ("inner", [("low", np.int8), ("more", [("v", np.float64)])])])
N = 4


def segments() -> np.ndarray:
    made = np.zeros(N, SEGMENT)
    for i in range(N):
        made[i] = ((3 * i, -i), (100 - i, 7 * i), i + 0.5)
    return made


def local(a: int32[N], b: int32[N]):
    for i in range(N):
        s: Segment = {"start": {"x": a[i], "y": i}, "weight": 0.5, "end": {"x": 1, "y": -a[i]}}
        s["start"]["x"] += 10
        p: Point = s["start"]
        s["end"] = p
        s["end"]["y"] = p["y"] - 1
        t: Segment = s
        b[i] = t["start"]["x"] + t["end"]["x"] * 100 + t["end"]["y"] * 10000


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_local_has_fields_of_fields(target, tmp_path):
    a = np.arange(N, dtype=np.int32)
    b = np.zeros(N, np.int32)
    build(local, target, tmp_path)(a, b)
    np.testing.assert_array_equal(b, (a + 10) * 101 + (a - 1) * 10000)


def arrays(s: Segment[N], t: Segment[N], lengths: int32[N]):
    kept: Segment[N]
    for i in range(N):
        kept[i] = s[N - 1 - i]
        kept[i]["start"]["y"] = i
    for i in range(N):
        t[i] = kept[i]
        t[i]["end"]["x"] = kept[i]["start"]["x"]
        t[i]["start"] = s[i]["end"]
        lengths[i] = s[i]["end"]["x"] - s[i]["start"]["x"]


@pytest.mark.parametrize("target", EVERYWHERE)
def test_arrays_of_them_are_arguments_and_locals(target, tmp_path):
    s, t, lengths = segments(), np.zeros(N, SEGMENT), np.zeros(N, np.int32)
    build(arrays, target, tmp_path)(s, t, lengths)
    expected = s[::-1].copy()
    expected["end"]["x"] = expected["start"]["x"]
    expected["start"] = s["end"]
    np.testing.assert_array_equal(t, expected)
    np.testing.assert_array_equal(lengths, s["end"]["x"] - s["start"]["x"])


def moved(p: Point, dx: int32) -> Point:
    q: Point = {"x": p["x"] + dx, "y": p["y"] + 1}
    return q


def moved_all(s: Segment[N], dx: int32):
    for i in range(N):
        s[i]["start"] = moved(s[i]["start"], dx)
        e: Point = moved(s[i]["end"], -dx)
        s[i]["end"] = e


@pytest.mark.parametrize("target", EVERYWHERE)
def test_an_inner_struct_is_passed_and_returned(target, tmp_path):
    s, expected = segments(), segments()
    build(moved_all, target, tmp_path)(s, 5)
    expected["start"]["x"] += 5
    expected["end"]["x"] -= 5
    expected["start"]["y"] += 1
    expected["end"]["y"] += 1
    np.testing.assert_array_equal(s, expected)


def total(s: Segment[N]) -> int32:
    t: int32 = 0
    for i in range(N):
        t += s[i]["start"]["x"] + s[i]["end"]["y"]
    return t


def passes_local(a: int32[N], out: int32[1]):
    held: Segment[N]
    for i in range(N):
        held[i] = {"start": {"x": a[i], "y": 0}, "end": {"x": 0, "y": i}, "weight": 1.0}
    out[0] = total(held)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_local_array_of_them_is_passed(target, tmp_path):
    a, out = np.arange(N, dtype=np.int32) * 5, np.zeros(1, np.int32)
    build(passes_local, target, tmp_path)(a, out)
    assert out[0] == a.sum() + np.arange(N).sum()


@df.region()
def streamed(s: Segment[N], t: Segment[N]):
    pipe: Stream[Segment, 2]
    points: Stream[Point, 2]

    @df.kernel(mapping=[1], args=[s])
    def send(a: Segment[N]):
        for i in range(N):
            pipe.put(a[i])
            points.put(a[i]["end"])

    @df.kernel(mapping=[1], args=[t])
    def take(b: Segment[N]):
        for i in range(N):
            v: Segment = pipe.get()
            p: Point = points.get()
            v["start"] = p
            v["end"]["x"] = 0
            b[i] = v


@pytest.mark.parametrize("target", EVERYWHERE)
def test_streams_carry_them(target, tmp_path):
    s, t = segments(), np.zeros(N, SEGMENT)
    build(streamed, target, tmp_path)(s, t)
    expected = s.copy()
    expected["start"] = s["end"]
    expected["end"]["x"] = 0
    np.testing.assert_array_equal(t, expected)


def deep(d: Deep[N], e: Deep[N]):
    for i in range(N):
        e[i]["tag"] = d[i]["tag"] + 1
        e[i]["inner"]["more"]["v"] = d[i]["inner"]["more"]["v"] * 2
        e[i]["inner"]["low"] = d[i]["inner"]["low"][0:3]


@pytest.mark.parametrize("target", EVERYWHERE)
def test_three_levels_and_bits_of_a_field(target, tmp_path):
    d, e = np.zeros(N, DEEP), np.zeros(N, DEEP)
    for i in range(N):
        d[i] = (i, (i - 3, (i * 0.5 - 1,)))
    build(deep, target, tmp_path)(d, e)
    np.testing.assert_array_equal(e["tag"], d["tag"] + 1)
    np.testing.assert_array_equal(e["inner"]["more"]["v"], d["inner"]["more"]["v"] * 2)
    np.testing.assert_array_equal(e["inner"]["low"], d["inner"]["low"] & 7)


def scalar(s: Segment, out: int32[2]):
    out[0] = s["start"]["x"]
    s["end"]["y"] = s["end"]["y"] + 1
    out[1] = s["end"]["y"]


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_scalar_argument_is_a_dict_of_dicts_or_a_record(target, tmp_path):
    module, out = build(scalar, target, tmp_path), np.zeros(2, np.int32)
    module({"start": {"x": 7, "y": 1}, "end": {"x": 2, "y": 3}, "weight": 1.0}, out)
    np.testing.assert_array_equal(out, [7, 4])
    module(segments()[3], out)
    np.testing.assert_array_equal(out, [9, 22])


Bytes = Struct({"a": Struct({"p": uint8, "q": uint8}), "b": uint8})
Signed = Struct({"a": Struct({"p": int8, "q": int8}), "b": int8})


def reread(words: UInt(24)[N], out: int32[N]):
    for i in range(N):
        b: Bytes = words[i]
        s: Signed = b
        out[i] = s["a"]["p"] * 3 + s["a"]["q"] * 5 + s["b"] * 7


@pytest.mark.parametrize("target", EVERYWHERE)
def test_an_integer_becomes_one_and_one_of_the_same_bits_another(target, tmp_path):
    words, out = (
        np.array([0x8001FF, 0x010203, 0xFFFFFF, 0x7F80C0], np.uint32),
        np.zeros(N, np.int32),
    )
    build(reread, target, tmp_path)(words, out)
    parts = (
        np.stack([words & 255, words >> 8 & 255, words >> 16 & 255]).astype(np.uint8).view(np.int8)
    )
    np.testing.assert_array_equal(out, parts.astype(np.int32).T @ np.array([3, 5, 7]))


def test_a_field_that_an_inner_struct_lacks_is_named():
    def wrong(a: Segment[N], b: int32[N]):
        b[0] = a[0]["start"]["z"]

    with pytest.raises(TypeMismatchError) as caught:
        allo.customize(wrong)
    assert caught.value.message == f"Field z not found in struct type {Point}."
    assert caught.value.help == "its fields: x, y."


def test_a_literal_gives_every_field_of_the_inner_struct():
    def wrong(b: int32[N]):
        s: Segment = {"start": {"x": 1}, "end": {"x": 1, "y": 2}, "weight": 0.0}
        b[0] = s["start"]["x"]

    with pytest.raises(TypeMismatchError) as caught:
        allo.customize(wrong)
    assert caught.value.help == "give every field once: x, y."
    with pytest.raises(TypeMismatchError, match="The fields are x, y"):
        allo.interpret(wrong)


def test_other_structs_are_not_mixed_up():
    def wrong(a: Segment[N], b: Segment[N]):
        a[0]["start"] = b[0]

    with pytest.raises(TypeMismatchError, match=r"A struct<start: .*> cannot become a struct<x: "):
        allo.customize(wrong)
