"""Core IR text for the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def elementwise(
    inputs: Mapping[str, str],
    outputs: Mapping[str, tuple[str, str]],
    count: int,
) -> str:
    """A void kernel ``f`` that applies operations to arrays, element by element.

    Args:
        inputs: array name to declared type (``ui7``).
        outputs: array name to (declared type, MLIR operations that define ``%<array name>``
            from ``%<input name>``).
        count: elements in each array.
    """
    arrays = {**inputs, **{name: spec[0] for name, spec in outputs.items()}}
    arguments = ", ".join(f"%m_{n}: memref<{count}x{mlir(t)}>" for n, t in arrays.items())
    body = [f"%{n} = affine.load %m_{n}[%i] : memref<{count}x{mlir(t)}>" for n, t in inputs.items()]
    for name, (declared, code) in outputs.items():
        body += [code, f"affine.store %{name}, %m_{name}[%i] : memref<{count}x{mlir(declared)}>"]
    lines = "\n".join(f"      {line}" for line in body)
    return f"""module {{
  func.func @f({arguments}) attributes {{{attributes(list(arrays), list(arrays.values()), [])}}} {{
    affine.for %i = 0 to {count} {{
{lines}
    }} {{loop_name = "i", op_name = "S_i_0"}}
    return
  }}
}}
"""


def attributes(names: Sequence[str], types: Sequence[str], results: Sequence[str]) -> str:
    """The attributes the core IR asks of a function."""

    def quoted(values: Sequence[str]) -> str:
        return "[" + ", ".join(f'"{v}"' for v in values) + "]"

    letters = ["".join(letter(t) for t in group) for group in (types, results)]
    return (
        f"arg_names = {quoted(names)}, arg_types = {quoted(types)}, res_types = {quoted(results)}, "
        f'itypes = "{letters[0]}", otypes = "{letters[1]}"'
    )


def mlir(declared: str) -> str:
    """The MLIR type of a declared type."""
    if declared.startswith("ui"):
        return declared[1:]
    if "fixed" in declared:
        return "i" + declared.split("(")[1].split(",")[0]
    return declared


def letter(declared: str) -> str:
    if declared.startswith("u"):
        return "u"
    return "s" if declared.startswith(("i", "fixed")) and declared != "index" else "_"
