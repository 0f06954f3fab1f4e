"""These tests need the extra ``torch``: ``scripts/test torch`` installs it and runs them."""

from __future__ import annotations

import functools
import os
from importlib.util import find_spec

# The suite as a whole runs without PyTorch; this folder then has no tests.
collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
# An environment may have been set up before these came.
collect_ignore_glob += [
    f"test_{name}.py"
    for name, package in (("brevitas", "brevitas"), ("keras", "hgq"))
    if not find_spec(package)
]
os.environ.setdefault("KERAS_BACKEND", "torch")

if find_spec("torch"):
    import torch
    from torch._export import utils
    from torch.export import exported_program

    # PyTorch makes all its operators known at each decomposition, three times a model; once is enough.
    utils._materialize_cpp_cia_ops = functools.cache(utils._materialize_cpp_cia_ops)
    # It then overrides each of them for 21 kinds of device, of which these tests have the CPU alone.
    keys = torch._C.DispatchKey
    exported_program._AUTOGRAD_ALIAS_BACKEND_KEYS_TO_OVERRIDE[:] = [
        keys.AutogradCPU,
        keys.AutogradMeta,
    ]
    exported_program._BACKEND_KEYS_TO_OVERRIDE[:] = [keys.CPU, keys.Meta]
