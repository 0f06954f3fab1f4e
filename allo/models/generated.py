"""Text of kernels that was written for a model, compiled as if it stood in a file."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Mapping, Sequence
from typing import Any

from allo.frontend.build import build_module
from allo.frontend.kernel_module import KernelModule

_SOURCE = "<allo model"
_numbers = itertools.count(1)


def functions_of_text(
    lines: Sequence[tuple[str, Any]], namespace: Mapping[str, Any]
) -> dict[str, Any]:
    """The functions of a source text by name, as kernels that others may call.

    Args:
        lines: of the source.
        namespace: what the text refers to.
    """
    return _executed("".join(f"{line}\n" for line, _ in lines), namespace)[0]


def _executed(text: str, namespace: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """What a text defines, and the name of the file in its places."""
    file = f"{_SOURCE} {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"__name__": file, **namespace}
    exec(compile(text, file, "exec"), names)
    return names, file


def compile_text(
    text: str, top: str, namespace: Mapping[str, Any], context: Any = None
) -> tuple[KernelModule, str]:
    """Compile a function of a source text, and those that it calls.

    Args:
        text: the source.
        top: the function.
        namespace: what the text refers to.
        context: an MLIR context to reuse.

    Returns:
        The kernel, and the name of the file in its places.

    Raises:
        FrontendError: the text is no kernel.
    """
    names, file = _executed(text, namespace)
    return build_module(names[top], context=context), file
