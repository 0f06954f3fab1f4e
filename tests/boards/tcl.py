"""A small model of Tcl and of Vivado's commands: which options each takes, and how many words.

Options are those of AMD's UG835 (Vivado), UG1118 (IP packager) and UG1553 (``package_xo``), as far as the
scripts use them, written from memory of these guides: none lay here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """``flags`` stand alone, ``values`` take a word, and so many other words follow."""

    values: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    needs: tuple[str, ...] = ()


def _command(
    values: str = "", flags: str = "", words: tuple[int, int] = (0, 0), needs: str = ""
) -> Command:
    return Command(tuple(values.split()), tuple(flags.split()), *words, tuple(needs.split()))


MANY = 99
COMMANDS = {
    "read_verilog": _command("-library", "-sv -quiet", (1, 1)),
    "read_xdc": _command("-ref -cells", "-unmanaged -quiet", (1, 1)),
    "synth_design": _command("-top -part -mode -flatten_hierarchy -directive", "-quiet", needs="-top -part"),
    "opt_design": _command("-directive", "-quiet"),
    "place_design": _command("-directive", "-quiet"),
    "phys_opt_design": _command("-directive", "-quiet"),
    "route_design": _command("-directive", "-quiet"),
    "report_utilization": _command("-file", "-hierarchical -append"),
    "report_timing_summary": _command("-file -max_paths", "-quiet"),
    "write_checkpoint": _command("", "-force -quiet", (1, 1)),
    "write_bitstream": _command("", "-force -bin_file -quiet", (1, 1)),
    "get_timing_paths": _command("-max_paths -from -to", "-quiet"),
    "get_property": _command("", "-quiet", (2, 2)),
    "set_property": _command("-dict", "-quiet", (1, 3)),
    "create_clock": _command("-name -period -waveform", "-add", (0, 1), "-period"),
    "get_ports": _command("-filter", "-quiet", (1, 1)),
    "create_project": _command("-part", "-force -in_memory", (1, 2)),
    "close_project": _command(),
    "current_project": _command(),
    "current_fileset": _command("", "-simset -constrset"),
    "add_files": _command("-fileset", "-norecurse -quiet", (1, MANY)),
    "update_compile_order": _command("-fileset", "-quiet"),
    "update_ip_catalog": _command("", "-rebuild -quiet"),
    "ipx::package_project": _command(
        "-root_dir -vendor -library -taxonomy -module -set_current", "-import_files -force -quiet",
        needs="-root_dir -vendor -library -taxonomy",
    ),
    "ipx::current_core": _command("", "", (0, 1)),
    "ipx::associate_bus_interfaces": _command("-busif -clock", "-clear", (1, 1), "-busif -clock"),
    "ipx::update_checksums": _command("", "", (1, 1)),
    "ipx::check_integrity": _command("", "-kernel -quiet", (1, 1)),
    "ipx::save_core": _command("", "", (1, 1)),
    "package_xo": _command(
        "-xo_path -kernel_name -ip_directory -kernel_xml -ctrl_protocol", "-force",
        needs="-xo_path -kernel_name -ip_directory",
    ),
    "create_bd_design": _command("-dir", "", (1, 1)),
    "create_bd_cell": _command("-type -vlnv -reference", "-quiet", (1, 1), "-type"),
    "get_ipdefs": _command("-filter", "-all -quiet", (0, 1)),
    "apply_bd_automation": _command("-rule -config", "", (1, 1), "-rule"),
    "get_bd_intf_pins": _command("-filter -of_objects", "-quiet", (1, 1)),
    "assign_bd_address": _command("-offset -range", "-quiet", (0, 1)),
    "validate_bd_design": _command("", "-force -quiet"),
    "save_bd_design": _command("", "-quiet", (0, 1)),
    "make_wrapper": _command("-files", "-top -import -force", needs="-files"),
    "get_files": _command("-filter", "-all -quiet", (0, MANY)),
    "launch_runs": _command("-to_step -jobs", "-force -quiet", (1, MANY)),
    "wait_on_run": _command("-timeout", "-quiet", (1, 1)),
    "get_runs": _command("-filter", "-quiet", (1, 1)),
    "set": _command("", "", (1, 2)),
    "list": _command("", "", (0, MANY)),
    "file": _command("", "-force", (1, MANY)),
    "glob": _command("-directory", "-nocomplain", (1, MANY)),
    "puts": _command("", "-nonewline", (1, 2)),
    "exit": _command("", "", (0, 1)),
    "foreach": _command("", "", (3, 3)),
    "if": _command("", "", (2, 5)),
}  # fmt: skip


class TclError(Exception):
    """The script is not one that Vivado would take."""


def check(script: str) -> list[str]:
    """The commands of a script, in order, scripts in brackets and bodies included.

    Raises:
        TclError: braces do not close, or a command, option or number of words is wrong.
    """
    found: list[str] = []
    for words in _commands(script):
        _check_command(words, found)
    return found


def _check_command(words: list[str], found: list[str]) -> None:
    name, *rest = words
    for word in rest:
        if not word.startswith("{"):
            for inner in _bracketed(word):
                found += check(inner)
    if name not in COMMANDS:
        raise TclError(f"no command {name}")
    found.append(name)
    if name == "foreach":
        found += check(rest[2][1:-1])
    if name == "if":
        for inner in _bracketed(rest[0][1:-1]):
            found += check(inner)
        found += check(rest[1][1:-1])
    _check_words(name, COMMANDS[name], rest)


def _check_words(name: str, command: Command, rest: list[str]) -> None:
    given, plain = set(), 0
    words = iter(rest)
    for word in words:
        if word in command.values:
            given.add(word)
            if next(words, None) is None:
                raise TclError(f"{name} {word} lacks its value")
        elif word in command.flags:
            given.add(word)
        elif word.startswith("-") and word[1:2].isalpha():
            raise TclError(f"{name} has no option {word}")
        else:
            plain += 1
    if not command.least <= plain <= command.most:
        raise TclError(f"{name} takes {command.least} to {command.most} words, not {plain}")
    if missing := set(command.needs) - given:
        raise TclError(f"{name} lacks {sorted(missing)}")


def _closing(text: str, at: int) -> int:
    """The place behind the brace or bracket that closes the one at a place."""
    opening, depth = text[at], 0
    closing = {"{": "}", "[": "]"}[opening]
    for k in range(at, len(text)):
        depth += (text[k] == opening) - (text[k] == closing)
        if depth == 0:
            return k + 1
    raise TclError(f"{opening} is not closed: {text[at : at + 40]}")


def _bracketed(word: str) -> list[str]:
    """Scripts in brackets that a word holds."""
    found, at = [], 0
    while (at := word.find("[", at)) >= 0:
        end = _closing(word, at)
        found.append(word[at + 1 : end - 1])
        at = end
    return found


def _commands(script: str) -> list[list[str]]:
    """The words of each command."""
    commands: list[list[str]] = [[]]
    at = 0
    while at < len(script):
        char = script[at]
        if char in "\n;":
            commands.append([])
            at += 1
        elif char.isspace():
            at += 1
        elif char == "#" and not commands[-1]:
            at = (script + "\n").index("\n", at)
        else:
            end = _word(script, at)
            commands[-1].append(script[at:end])
            at = end
    return [words for words in commands if words]


def _word(script: str, at: int) -> int:
    """The place behind a word."""
    if script[at] == "{":
        return _closing(script, at)
    if script[at] == '"':
        end = script.find('"', at + 1)
        if end < 0:
            raise TclError(f"a quote is not closed: {script[at : at + 40]}")
        return end + 1
    while at < len(script) and not script[at].isspace() and script[at] != ";":
        at = _closing(script, at) if script[at] == "[" else at + 1
    return at
