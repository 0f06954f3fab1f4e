"""The arguments of a call that names some of them, or leaves out those with a default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import ArgumentCountError

if TYPE_CHECKING:
    from .arguments import Signature


def arrange(
    signature: Signature,
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    what: str,
    options: Sequence[str] = (),
) -> Sequence[Any]:
    """The arguments of a call by position: ``mod(A, t=1)`` is ``mod(A, 3, 1)`` with ``s=3`` as a default.

    What stands behind the arguments (arrays for results) stays there.

    Args:
        what: the call, to open a sentence: ``"A call of an RTLModule"``.
        options: keywords of the call itself, for the message.

    Raises:
        OptionError: a keyword that is no argument.
        ArgumentCountError: an argument is given twice, or not at all.
    """
    names = [parameter.name for parameter in signature.arguments]
    if not keywords and (len(args) >= len(names) or not signature.defaults):
        return args
    given = dict(zip(names, args, strict=False))
    for name, value in keywords.items():
        if name not in names:
            from ..options import refuse_keywords

            refuse_keywords(what, {name: value}, options, names)
        if name in given:
            raise ArgumentCountError(
                f"Argument {name} of {signature.top} is given by position and by name.",
                signature.place,
                help="give it once.",
            )
        given[name] = value
    missing = [name for name in names if name not in given and name not in signature.defaults]
    if missing and not keywords:
        return args
    if missing:
        raise ArgumentCountError(
            f"The call of {signature.top} gives no {' and no '.join(missing)}.",
            signature.place,
            help=f"its arguments: {', '.join(names)}.",
        )
    full = {**signature.defaults, **given}
    return [*(full[name] for name in names), *args[len(names) :]]
