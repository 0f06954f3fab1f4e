"""From the Verilog that CIRCT writes to the Verilog of a design: its top first, for people to read."""

from __future__ import annotations

from collections.abc import Sequence

from .comments import Comments
from .modules import split_modules
from .names import name_values
from .unread import mark_unread

_OTHERS = "/* verilator lint_off DECLFILENAME */  // the modules of the design stand in one file"


def finish_verilog(text: str, top: str, title: Sequence[str] = ()) -> str:
    """The Verilog of a design.

    Args:
        text: as CIRCT exports it.
        top: the module that comes first: tools expect it in the file of its name.
        title: lines of the comment at the head.
    """
    comments = Comments(text)
    modules = [
        (module.name, mark_unread(comments.rewrite(name_values(module.text))))
        for module in split_modules(text)
    ]
    modules.sort(key=lambda module: module[0] != top)
    files = [f"{name} is {path}" for path, name in comments.names.items() if name != path]
    first, *others = [text for _, text in modules]
    if others:
        others[0] = f"{_OTHERS}\n\n{others[0]}"
    head = "\n".join(f"// {line}" for line in [*title, *files])
    return "\n\n".join([*([head] if head else []), first, *others]) + "\n"
