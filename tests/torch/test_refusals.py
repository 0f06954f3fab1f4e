"""What cannot become hardware is refused with the module and the line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from allo.errors import ModelError, UnsupportedOperatorError
from allo.frontend import from_pytorch
from tests.torch.support import tensor

X = tensor(2, 3)


class Inner(nn.Module):
    """A model of one inner module ``part``, whose ``forward`` is given."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: torch.Tensor) -> Any:
        return self.part(x)


def refused(part: nn.Module, kind: type[Exception], message: str, marked: str) -> Exception:
    """The error; its place is the line of this file that holds ``marked``."""
    with pytest.raises(kind, match=re.escape(message)) as caught:
        from_pytorch(Inner(part), [X])
    lines = Path(__file__).read_text().splitlines()
    line = next(k for k, text in enumerate(lines, 1) if text.endswith(f"# {marked}"))
    place = caught.value.place  # type: ignore[attr-defined]
    assert (place.file, place.line) == (__file__, line)
    return caught.value


def test_an_operator_without_a_lowering() -> None:
    class Sorted(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x.sort().values  # sorts

    error = refused(
        Sorted(),
        UnsupportedOperatorError,
        "Module 'part' uses aten.sort.default, which is not supported.",
        "sorts",
    )
    assert isinstance(error, NotImplementedError)
    assert "help: the nearest supported form: amax and argmax find the greatest element" in str(
        error
    )


def test_a_form_without_a_lowering() -> None:
    class Pooled(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return nn.functional.adaptive_avg_pool1d(x, 2)  # pools

    error = refused(
        Pooled(),
        UnsupportedOperatorError,
        "Module 'part' uses aten.adaptive_avg_pool1d.default from [3] to [2].",
        "pools",
    )
    assert "have to divide those of the image" in str(error)


def test_control_that_depends_on_data() -> None:
    class Branching(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            if x.sum() > 0:  # branches
                return x
            return -x

    error = refused(
        Branching(),
        ModelError,
        "Module 'part' cannot be exported by torch.export: what it does depends on the values",
        "branches",
    )
    assert "choose with torch.where" in str(error)


def test_shapes_that_depend_on_data() -> None:
    class Chosen(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x[x > 0]  # chooses

    error = refused(
        Chosen(),
        ModelError,
        "Module 'part' uses aten.index.Tensor, whose result has a shape that depends on the values",
        "chooses",
    )
    assert "nearest supported form: keep the shape and choose with torch.where(mask, x, 0)" in str(
        error
    )


def test_an_extent_that_depends_on_data() -> None:
    class Cut(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x[: int(x.sum().item())]  # cuts

    error = refused(
        Cut(), ModelError, "Module 'part' cannot be exported by torch.export: what it does", "cuts"
    )
    assert "help: hardware is fixed: compute both results and choose with torch.where." in str(
        error
    )


def test_an_input_changed_in_place() -> None:
    class Changing(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            x.add_(1)  # changes
            return x * 2

    refused(Changing(), ModelError, "The model changes its input 'x' in place.", "changes")


def test_a_buffer_changed_in_place() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> Any:
            self.total += x.sum(0)  # counts
            return x + self.total

    refused(Counting(), ModelError, "The model changes its buffer 'part.total' in place.", "counts")


def test_random_numbers() -> None:
    class Noisy(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x + torch.rand(3)  # draws

    refused(Noisy(), UnsupportedOperatorError, "which is random", "draws")


def test_example_inputs_of_another_shape() -> None:
    with pytest.raises(
        ModelError,
        match=r"Module 'part' cannot be exported by torch.export with these example inputs",
    ):
        from_pytorch(Inner(nn.Linear(4, 2)), [X])


def test_too_few_example_inputs() -> None:
    with pytest.raises(ModelError, match="cannot be exported by torch.export"):
        from_pytorch(Inner(nn.Linear(3, 2)), [])


def test_example_inputs_that_are_no_list() -> None:
    with pytest.raises(ModelError, match="example_inputs is a list of tensors, not Tensor"):
        from_pytorch(Inner(nn.Linear(3, 2)), X)


def test_an_example_input_that_is_no_tensor() -> None:
    with pytest.raises(ModelError, match="Example input 1 is of type int, and not a tensor"):
        from_pytorch(Inner(nn.Linear(3, 2)), [X, 3])


def test_a_function_instead_of_a_module() -> None:
    with pytest.raises(ModelError, match=r"from_pytorch takes a torch.nn.Module, not builtin"):
        from_pytorch(torch.relu, [X])


def test_the_model_stays_in_training() -> None:
    model = Inner(nn.Dropout(0.5)).train()
    from_pytorch(nn.Sequential(model, nn.ReLU()), [X], target="mlir")
    assert model.training and model.part.training
