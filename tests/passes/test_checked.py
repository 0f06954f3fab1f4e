"""Passes are held against the rules of the core IR where the tests ask for it."""

from __future__ import annotations

import pytest

from allo.dialects._mlir import ir, make_context
from allo.dialects.checked import module_pass
from allo.dialects.core.signature import functions_of
from allo.errors import VerificationError

TEXT = """func.func @f(%a: f32) attributes {arg_names = ["a"], arg_types = ["f32"], itypes = "_",
    otypes = "", res_types = []} { return }"""


@module_pass
def forgets_names(module: ir.Module) -> int:
    """A pass that breaks a rule."""
    del functions_of(module)["f"].attributes["arg_names"]
    return 1


def test_a_pass_that_breaks_a_rule_is_refused():
    module = ir.Module.parse(TEXT, make_context())
    with module.context, pytest.raises(VerificationError, match="f has no attribute arg_names"):
        forgets_names(module)


def test_a_module_that_kept_no_rules_before_is_left_alone():
    module = ir.Module.parse(
        "func.func @f(%a: f32) attributes {arg_names = []} { return }", make_context()
    )
    with module.context:
        assert forgets_names(module) == 1


def test_users_do_not_pay_for_the_check(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ALLO_VERIFY")
    module = ir.Module.parse(TEXT, make_context())
    with module.context:
        assert forgets_names(module) == 1
