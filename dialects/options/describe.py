"""The table of options as text: what ``allo options`` prints and ``docs/options.md`` holds."""

from __future__ import annotations

from collections.abc import Iterator

from ..text.shown import shown
from .groups import CPU, HLS, RTL, SIMULATED, XLS
from .option import Option
from .table import TABLE

_NAMES = {
    CPU: "`llvm`, `cpu`, `simulator`",
    HLS: "`vhls`, `vivado_hls`, `vitis_hls`, `pynq`, `tapa`, `catapult`, `ihls`",
    XLS: "`xls`, `xlscc`",
    RTL: "`verilog`, `rtl`, `systemverilog`",
    SIMULATED: "`verilog`, `rtl`",
}


def markdown(group: str | None = None) -> str:
    """Every option, or those of a target or function, as tables in Markdown."""
    sections: dict[tuple[str, ...], list[Option]] = {}
    for option in TABLE:
        if group is None or group in option.groups:
            sections.setdefault(option.groups, []).append(option)
    return "\n".join(line for groups, rows in sections.items() for line in _section(groups, rows))


def _section(groups: tuple[str, ...], rows: list[Option]) -> Iterator[str]:
    yield f"### {_NAMES.get(groups) or ', '.join(f'`{g}`' for g in groups)}\n"
    yield "| option | takes | default | meaning |\n|---|---|---|---|"
    for option in rows:
        default = "–" if option.default is None else f"`{shown(option.default)}`"
        yield f"| `{option.name}` | {option.accepts} | {default} | {option.doc} |"
    yield ""
