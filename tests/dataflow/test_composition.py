"""Regions that a program puts together of parts."""

from __future__ import annotations

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import CompileTimeError, DataflowError
from tests.dataflow import parts_of_a_region as parts

N = parts.N


def chain(*factors: int) -> df.Composition:
    """A region that multiplies by one factor after the other."""
    region = df.Composition("top", arguments=("A", "B", "scale"))
    region.add(parts.sending())
    for number, factor in enumerate(factors):
        names = {"come": f"pipe_{number}", "gone": f"pipe_{number + 1}"}
        region.add(parts.multiplying(factor), at=(number,), names=names)
    region.add(parts.taking(), names={"pipe": f"pipe_{len(factors)}"})
    region.common = tuple(f"pipe_{number}" for number in range(len(factors) + 1))
    return region


@pytest.mark.parametrize("target", ["simulator", "verilog"])
def test_parts_are_joined_by_the_names_of_their_parameters(target: str) -> None:
    module = df.build(chain(3, 5), target=target)
    given, got = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    module(given, got, 2)
    assert np.array_equal(got, given * 30)


def test_streams_and_kernels_of_a_place_have_it_behind_their_names() -> None:
    text = str(df.customize(chain(3, 5)).module)
    for name in ("@multiply_0_0", "@multiply_1_0", '"inner_0"', '"inner_1"', '"pipe_1"'):
        assert name in text


def test_a_composition_is_the_region_that_one_writes_by_hand() -> None:
    region = df.Composition("by_hand", arguments=("A", "B", "scale"))
    region.add(parts.sending())
    region.add(parts.taking(), names={"pipe": "pipe_0"})
    composed, whole = (str(df.customize(r).module) for r in (region, parts.by_hand))
    assert composed == whole


def refused(region: df.Composition) -> str:
    """The first line of the message, without its place."""
    with pytest.raises(DataflowError) as error:
        df.customize(region)
    return str(error.value).splitlines()[0].split(".py:")[-1].split(": ", 1)[-1]


def test_what_does_not_fit_is_refused() -> None:
    region = df.Composition("top", arguments=("A", "scale", "left"))
    assert refused(region) == "The region top has no parts."
    region.add(parts.sending())
    assert refused(region) == "No part of the region top takes its argument left."
    region.arguments = ("A",)
    assert refused(region) == "The region top has no argument scale, which a part takes."
    region.add(parts.narrow(), names={"pipe": "pipe_0"})
    said = "pipe_0 is stream<i8, 4> in one part of a region and stream<i32, 4> in another."
    assert refused(region) == said
    with pytest.raises(DataflowError, match=r"^chain is not a part of a dataflow region\.\nhelp: "):
        region.add(chain)
    untyped = df.Composition("top", arguments=())
    untyped.add(parts.untyped)
    assert refused(untyped) == "The parameter pipe of the part untyped has no type."


@pytest.mark.parametrize("target", ["simulator", "verilog"])
def test_a_parameter_may_stand_for_a_number(target: str) -> None:
    region = chain(3)
    region.arguments, region.values = ("A", "B"), {"scale": 5}
    module = df.build(region, target=target)
    given, got = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    module(given, got)
    assert np.array_equal(got, given * 15)
    region.values = {"scale": 5, "A": 6}
    assert refused(region) == "A is a number in values=, and i32[6] in a part of the region."


def test_a_tuple_behind_a_star_gives_template_arguments() -> None:
    module = df.build(parts.starred, target="simulator")
    given, got = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    module(given, got)
    assert np.array_equal(got, given * 7)


def test_a_star_before_something_else_is_refused() -> None:
    with pytest.raises(CompileTimeError, match=r"\*N stands for no template arguments: it is 6"):
        df.customize(parts.wrongly_starred)
