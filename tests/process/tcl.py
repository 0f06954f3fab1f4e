"""Runs Tcl scripts as vendors' tools do: by Tcl itself, or else by the rules of ``tcl_rules.py``."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

SECONDS = 60
RULES = [sys.executable, "-I", str(Path(__file__).with_name("tcl_rules.py"))]

_RUN = """
import os, sys, tkinter

tcl = tkinter.Tcl()

def leave(code="0"):
    tcl.eval("flush stdout")
    os._exit(int(code))

tcl.createcommand("exit", leave)
tcl.setvar("argv", tuple(sys.argv[2:]))
try:
    tcl.call("source", "-encoding", "utf-8", sys.argv[1])
except tkinter.TclError as error:
    print(error, file=sys.stderr, flush=True)
    leave("1")
leave()
"""


def interpreters() -> dict[str, list[str]]:
    """The commands that run a script: the rules on every machine, and Tcl itself where there is one."""
    found = {"rules": RULES}
    if importlib.util.find_spec("_tkinter") is not None:
        found["tkinter"] = [sys.executable, "-I", "-c", _RUN]
    if shutil.which("tclsh"):
        found["tclsh"] = ["tclsh", "-encoding", "utf-8"]
    return found


def run_tcl(
    script: str, *arguments: str, folder: Path, by: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Run the file ``script`` of a folder, there; its exit status is 1 where Tcl finds an error.

    Args:
        by: one of :func:`interpreters`; Tcl itself where there is one, when it is not given.
    """
    found = interpreters()
    command = found[by] if by else found.get("tkinter") or found.get("tclsh") or RULES
    return subprocess.run(
        [*command, script, *arguments],
        cwd=folder,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
