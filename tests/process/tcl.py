"""Runs Tcl scripts as vendors' tools do, by the interpreter that comes with Python (else by tclsh)."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 60

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


def run_tcl(script: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the file ``script`` of a folder, there; its exit status is 1 where Tcl finds an error."""
    if importlib.util.find_spec("_tkinter") is not None:
        command = [sys.executable, "-I", "-c", _RUN]
    elif shutil.which("tclsh"):
        command = ["tclsh", "-encoding", "utf-8"]
    else:
        pytest.skip("there is no Tcl: this Python was built without tkinter, and tclsh is missing")
    return subprocess.run(
        [*command, script, *arguments],
        cwd=folder,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
