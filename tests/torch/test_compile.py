"""``torch.compile(…, backend="allo")``: graphs on Allo's builds, the others in PyTorch with a reason."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import allo.torch
from allo.errors import EagerWarning
from allo.ir.types import Fixed
from tests.torch.models import GptBlock
from tests.torch.support import initialised, tensor


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error", EagerWarning)
        yield


def compiled(program: Any, **options: Any) -> Any:
    return torch.compile(program, backend="allo", options=options or None)


def assert_equal(got: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


def line_of(marked: str) -> str:
    lines = Path(__file__).read_text().splitlines()
    number = next(k for k, text in enumerate(lines, 1) if text.endswith(f"# {marked}"))
    return f"{__file__}:{number}"


def test_a_model_runs_on_the_cpu_build_with_its_gradient() -> None:
    model, x = initialised(GptBlock()), tensor(1, 5, 8)
    run = compiled(model)
    with torch.no_grad():
        assert_equal(run(x), model(x))
        longer = tensor(3, 5, 8)  # another shape: built again
        assert_equal(run(longer), model(longer))
    run(x).square().sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).square().sum().backward()
    for mine, parameter in zip(gradients, model.parameters(), strict=True):
        torch.testing.assert_close(mine, parameter.grad, rtol=1e-3, atol=1e-3)


def test_weights_that_change_are_seen() -> None:
    model, x = initialised(nn.Linear(4, 3)), tensor(2, 4)
    run = compiled(model)
    with torch.no_grad():
        run(x)
        model.weight.mul_(2)
        assert_equal(run(x), model(x))


def test_graphs_run_in_simulated_hardware() -> None:
    model, x = initialised(nn.Sequential(nn.Linear(4, 3), nn.ReLU())), tensor(2, 4)
    seen = []

    def schedule(s: Any) -> None:
        s["**"].pipeline()
        seen.append(s.steps)

    run = compiled(model, target="jit", schedule=schedule)
    with torch.no_grad():
        assert_equal(run(x), model(x))
    assert seen == [['s["**"].pipeline()']]


def test_types_are_chosen() -> None:
    model, x = initialised(nn.Linear(4, 3)), tensor(2, 4)
    run = compiled(model, op_dtypes={"default": Fixed(16, 4)})
    with torch.no_grad():
        got, wanted = run(x), model(x)
    assert got.dtype == torch.float32 and not torch.equal(got, wanted)
    torch.testing.assert_close(got, wanted, rtol=0, atol=0.5)


def test_results_keep_their_shapes_and_types() -> None:
    def program(x: torch.Tensor, n: int) -> Any:
        y = x.to(torch.bfloat16) * n
        return x.sum(), x > 0, x.argmax(1), y, x.double()

    x = tensor(2, 4)
    for n in (2, 3, 4):
        for mine, theirs in zip(compiled(program)(x, n), program(x, n), strict=True):
            assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
            assert_equal(mine, theirs)


# --- in PyTorch, with a reason ------------------------------------------------------------------


def sorting(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    return y.sort().values + 1  # sorts


def branching(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if y.sum() > 0:  # branches
        return y.sort().values + 1
    return y - 1


def changing(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * 2


def turned(x: torch.Tensor) -> torch.Tensor:
    return x.t()


def noisy(x: torch.Tensor) -> torch.Tensor:
    return nn.functional.dropout(x, 0.5, training=True)


def test_an_operator_without_a_lowering_runs_in_pytorch() -> None:
    x = tensor(2, 4)
    message = (
        f"{line_of('sorts')}:5: A graph of torch.compile (mul, sort, getitem, add) runs in PyTorch: "
        "The model uses aten.sort.default, which is not supported."
    )
    with pytest.warns(EagerWarning, match=f"^{re.escape(message)}$"):
        assert_equal(compiled(sorting)(x), sorting(x))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (changing, "The model changes its input '.*' in place."),
        (
            turned,
            "Result 0 of the graph is an input or a view of one, and not a tensor of its own.",
        ),
        (noisy, r"The model uses aten\.\w*dropout\w*"),
    ],
)
def test_what_a_build_cannot_do_runs_in_pytorch(program: Any, reason: str) -> None:
    given, wanted = tensor(2, 4), tensor(2, 4)
    torch.manual_seed(0)
    with pytest.warns(EagerWarning, match=f"runs in PyTorch: {reason}"):
        got = compiled(program)(given)
    torch.manual_seed(0)
    assert torch.equal(got, program(wanted))
    assert torch.equal(given, wanted)
    assert (got.untyped_storage().data_ptr() == given.untyped_storage().data_ptr()) == (
        program is turned
    )


def test_explain_tells_where_each_graph_runs() -> None:
    rows = allo.torch.explain(branching, torch.ones(2, 4)).rows
    assert [(row.path, row.operator, row.became, row.place) for row in rows] == [
        ("graph 1", "mul, sum, gt", "runs on Allo's CPU build", rows[0].place),
        ("graph 1", "", rows[1].became, line_of("branches")),
        (
            "graph 2",
            "sort, getitem, add",
            "runs in PyTorch: The model uses aten.sort.default, which is not supported.",
            rows[2].place,
        ),
    ]
    assert rows[1].became.startswith("PyTorch ends the graph: ")
    assert rows[2].place.startswith(f"{__file__}:")


def test_explain_takes_what_is_compiled_already() -> None:
    model = initialised(nn.Linear(4, 3))
    found = allo.torch.explain(compiled(model), tensor(2, 4), options={"target": "jit"})
    assert str(found) == "graph 1  linear  runs on simulated hardware (jit)"


# --- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"tarqet": "jit"},
            "torch.compile with backend='allo' has no option 'tarqet'.\nhelp: did you mean 'target'?",
        ),
        (
            {"target": "vhls"},
            "The option target is 'vhls', and graphs of torch.compile run on llvm, jit, verilator.",
        ),
        ({"schedule": "fast"}, "The option schedule is 'fast', and no function."),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=re.escape(message)):
        compiled(nn.Linear(4, 3), **options)(tensor(2, 4))


def test_the_backend_has_a_name() -> None:
    assert "allo" in torch._dynamo.list_backends()
    allo.torch.register()
    assert torch._dynamo.lookup_backend("allo") is allo.torch.allo_backend
