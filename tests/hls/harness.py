"""Building one core IR text for two targets and comparing all they leave behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.target import BuildRequest, find_target


def build(text: str, target: str = "vhls", top: str = "top", **request: Any):
    return find_target(target)(BuildRequest(text, top, target, **request))


def same_as_cpu(text: str, args: list[Any], *, target: str = "vhls", top: str = "top") -> None:
    """Run on copies by csim and by the CPU build; results and every array must be equal."""
    mine, theirs = [[a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
    got = build(text, target, top)(*mine)
    expected = build(text, "llvm", top)(*theirs)
    np.testing.assert_equal(got, expected)
    for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        np.testing.assert_array_equal(a, b, err_msg=f"argument {k}")


def function(
    name: str,
    params: str,
    body: str,
    types: list[str],
    results: str = "",
    res: list[str] | None = None,
) -> str:
    """A ``func.func`` with the attributes of the core IR; names are read from ``params``."""
    names = [part.split(":")[0].strip().lstrip("%") for part in params.split(",%")]
    quoted = ", ".join(f'"{n}"' for n in names if n)
    declared = ", ".join(f'"{t}"' for t in types)
    returned = ", ".join(f'"{t}"' for t in res or [])
    letters = ["".join("u" if t[0] == "u" else "s" for t in part) for part in (types, res or [])]
    return f"""
  func.func @{name}({params.replace(",%", ", %")}) {results} attributes {{arg_names = [{quoted}],
    arg_types = [{declared}], res_types = [{returned}], itypes = "{letters[0]}",
    otypes = "{letters[1]}"}} {{
{body}
  }}"""


def module(*parts: str) -> str:
    return "module {" + "\n".join(parts) + "\n}"
