"""Points of sets of integers given as text: the first one, and the range of an expression over them."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects.affine.isl import isl


def first_point(names: Sequence[str], constraints: Sequence[str]) -> tuple[int, ...] | None:
    """The lexicographically least point of the names under isl constraints; None where there is none."""
    found = _set(names, constraints)
    if found.is_empty():
        return None
    point = found.lexmin().sample_point()
    return tuple(
        point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(len(names))
    )


def span_over(
    names: Sequence[str], constraints: Sequence[str], expression: str
) -> tuple[int, int] | None:
    """(least, greatest) value of an expression over the points; None where there is no such."""
    relation = isl.Map(
        f"{{ [{', '.join(names)}] -> [{expression}] : {_conjunction(constraints)} }}"
    )
    image = relation.range()
    if image.is_empty() or not image.is_bounded():
        return None
    return image.dim_min_val(0).to_python(), image.dim_max_val(0).to_python()


def _set(names: Sequence[str], constraints: Sequence[str]) -> isl.Set:
    return isl.Set(f"{{ [{', '.join(names)}] : {_conjunction(constraints)} }}")


def _conjunction(constraints: Sequence[str]) -> str:
    return " and ".join(f"({c})" for c in constraints) or "1 = 1"
