"""From the Verilog that CIRCT writes to the Verilog of a design: its top first, for people to read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from allo.backend.devices import Cells
from allo.dialects.processes.collecting import without_collection

from .comments import Comments, comment_of
from .memories import mark_memories
from .modules import split_modules
from .names import name_values
from .table_cells import table_modules, with_tables
from .unread import mark_unread

_OTHERS = "/* verilator lint_off DECLFILENAME */  // the modules of the design stand in one file"


_STEP = "step "
_BIT = re.compile(r"^  (?:reg|wire) +(\w+)(?:;| =)")


def _stages(signals: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """``stage 3 of loop k (gemm.py:12:9)``, by the bit that is high while it runs."""
    found = {}
    for signal, purpose in signals.items():
        if purpose.startswith(_STEP):
            for path, name in names.items():
                purpose = purpose.replace(f"({path}:", f"({name}:").replace(
                    f" {path}:", f" {name}:"
                )
            found[signal] = f"stage {purpose.removeprefix(_STEP)}"
    return found


def name_stages(module: str, stages: Mapping[str, str]) -> str:
    """A module with a comment in front of each bit that says when a stage of a pipeline runs."""
    if not stages:
        return module
    lines = []
    for line in module.split("\n"):
        bit = _BIT.match(line) if line.startswith(("  reg ", "  wire ")) else None
        if bit is not None and bit[1] in stages:
            lines.append(f"  {comment_of(stages[bit[1]])}")
        lines.append(line)
    return "\n".join(lines)


@without_collection()
def finish_verilog(
    text: str,
    top: str,
    title: Sequence[str] = (),
    directives: Sequence[str] = (),
    signals: Mapping[str, Mapping[str, str]] | None = None,
    ultra: Mapping[str, Collection[str]] | None = None,
    told: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
    cells: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    tables: Cells | None = None,
) -> str:
    """The Verilog of a design.

    Args:
        text: as CIRCT exports it.
        top: the module that comes first: tools expect it in the file of its name.
        title: lines of the comment at the head.
        directives: comments that tools obey, which follow the title.
        signals: by module and name what signals are for; those of stages get a comment of their own.
        ultra: by module the memories that are to be blocks of 288 kbit.
        told: by module and name the attributes of memories that their texts tell.
        cells: modules that are written already, which come last.
        files: the paths of files that the text has other names for.
        tables: the cells of the family, of which whole tables are told to synthesis.
    """
    comments = Comments(text, files)
    modules = []
    for module in split_modules(text):
        named = name_values(module.text)
        if tables is not None:
            named = with_tables(named, tables)
        made = mark_unread(comments.rewrite(named))
        stages = _stages((signals or {}).get(module.name, {}), comments.names)
        large = (ultra or {}).get(module.name, ())
        made = mark_memories(name_stages(made, stages), large, (told or {}).get(module.name))
        modules.append((module.name, made))
    modules.sort(key=lambda module: module[0] != top)
    short = [f"{name} is {path}" for path, name in comments.names.items() if name != path]
    texts = [text for _, text in modules]
    own = table_modules(texts, tables) if tables is not None else []
    first, *others = [*texts, *cells, *own]
    if others:
        others[0] = f"{_OTHERS}\n\n{others[0]}"
    head = "\n".join([*(comment_of(line) for line in [*title, *short]), *directives])
    return "\n\n".join([*([head] if head else []), first, *others]) + "\n"
