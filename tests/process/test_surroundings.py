"""What surrounds a program: small stacks of threads, folders whose names are no UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import allo
from allo.errors import BuildError
from allo.ir.types import int32

KERNEL = """
import threading, allo
from allo.ir.types import int32

def k(a: int32) -> int32:
    return a + 1

"""
IN_THREAD = """
def work():
    try:
        allo.customize(k)
    except allo.errors.BuildError as error:
        print(error)

threading.stack_size(256 << 10)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def ended(folder: bytes, text: str) -> str:
    """What a program in a folder prints; it ends well."""
    os.makedirs(folder, exist_ok=True)
    with open(folder + b"/k.py", "w") as file:
        file.write(KERNEL + text)
    command = [os.fsencode(sys.executable), folder + b"/k.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_use_in_a_thread_of_a_small_stack_is_refused(tmp_path: Path) -> None:
    """MLIR would run out of it while it is loaded, which ends the process."""
    said = ended(os.fsencode(tmp_path), IN_THREAD)
    assert (
        "stack of 256 KiB, and compiling needs 512 KiB" in said and "threading.stack_size" in said
    )


def test_a_later_build_in_a_thread_of_a_small_stack_is_refused() -> None:
    def k(a: int32) -> int32:
        return a + 1

    schedule = allo.customize(k)
    caught: list[BuildError] = []

    def work() -> None:
        with pytest.raises(BuildError, match="stack of 256 KiB") as error:
            schedule.build()
        caught.append(error.value)

    before = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(caught) == 1


def test_a_folder_whose_name_is_no_utf8(tmp_path: Path) -> None:
    text = """
s = allo.customize(k)
print(s.build()(1), s.build(target="vhls")(1), s.build(target="verilog", simulator="jit")(1))
print(s.build(target="systemverilog").count("k.py") > 0)
"""
    assert ended(os.fsencode(tmp_path) + b"/caf\xe9", text) == "2 2 2\nTrue\n"
