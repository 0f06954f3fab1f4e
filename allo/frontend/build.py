"""``build_module``: a Python function, read and never run, becomes core IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from allo.dialects._mlir import make_context, with_dialect
from allo.dialects.diagnostics import FrontendError
from allo.dialects.processes.collecting import without_collection

from .capture import Names, caller_frames, unwrap
from .checks.endless import settle_endless
from .checks.out_of_range import refuse_out_of_range
from .checks.shared_state import refuse_shared_state
from .checks.surprises import surprises_of
from .checks.two_writers import refuse_races, refuse_two_writers
from .checks.uninitialized import warn_uninitialized
from .composition import Composition
from .elaborate.context import FunctionContext, ModuleContext
from .elaborate.functions import instances as functions
from .elaborate.functions.parts import Parts, source_of_composition
from .elaborate.language import LANGUAGE
from .emit.module import emit_module
from .kernel_module import KernelModule
from .rules.typing import RULE_SETS
from .source import source_of, source_of_text


def build_module(
    fn: Callable[..., Any] | Composition | str,
    *,
    global_vars: Mapping[str, Any] | None = None,
    instantiate: Sequence[Any] | None = None,
    context: Any = None,
    typing_rules: str = "default",
    share: bool | None = None,
    prepare: Callable[[FunctionContext], None] | None = None,
) -> KernelModule:
    """Compile ``fn`` and every function it calls to core IR.

    Args:
        fn: a Python function, a composed region or a source text.
        global_vars: the names it may refer to, in place of automatic capture.
        instantiate: template arguments, in order; a string among them is the instance id.
        context: an MLIR context to reuse.
        typing_rules: name of the rule set.
        share: dataflow: let kernel instances that differ only in subscripts be one function with
            index arguments; None: only where a kernel has more than 16 instances.
        prepare: called with the top function's context once its signature is known.

    Raises:
        FrontendError: when the program is not a kernel, at the place of the mistake.
    """
    rules = RULE_SETS.get(typing_rules)
    if rules is None:
        raise FrontendError(
            f"There are no typing rules called {typing_rules!r}.",
            help=f"known rule sets: {', '.join(RULE_SETS)}.",
        )
    frames = caller_frames()
    module = ModuleContext(LANGUAGE, rules, frames, global_vars, share=share)
    if isinstance(fn, Composition):
        source, names = source_of_composition(fn), Names(None, frames, global_vars)
        prepare = Parts(fn).begin
    elif isinstance(fn, str):
        source, names = source_of_text(fn), Names(None, frames, global_vars or {})
    else:
        function = unwrap(functions.require_function(fn))
        source, names = source_of(function), Names(function, frames, global_vars)
    with without_collection():
        values, instance_id = functions.top_values(instantiate)
        try:
            asked = functions.Instantiation(
                source,
                names,
                (fn, "top"),
                values=values,
                instance_id=instance_id,
                is_region=functions.is_region(fn),
            )
            info = functions.build_instance(module, asked, prepare)
            settle_endless(module.trees[info.name], module.trees)
        except FrontendError as error:
            # The message shows the user's line; a traceback through the compiler would hide it.
            raise error.with_traceback(None) from error.__cause__
        finally:
            names.forget_callers()
        warned: set[object] = set()
        for made in module.functions:
            refuse_out_of_range(made)
            warn_uninitialized(made, warned)
            module.surprises += surprises_of(made)
        mlir_context = make_context() if context is None else with_dialect(context)
        made_module = emit_module(mlir_context, module.functions, module.declarations)
        refuse_shared_state(made_module, module.stateful)
        module.surprises += [*refuse_two_writers(made_module), *refuse_races(made_module)]
    return KernelModule(
        mlir_context,
        made_module,
        info.name,
        module.infos,
        module.stateful,
        module.ext_libs,
        values,
        fn,
        list(dict.fromkeys(module.surprises)),
    )
