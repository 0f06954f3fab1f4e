"""Hold what a user gave against the table of options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..diagnostics import InvalidModeError, OptionError
from ..text.near import did_you_mean
from .groups import BUILD, MODE_WITH_PROJECT, MODES, PROJECTS
from .table import TABLE, options_of


def read_call(group: str, given: Mapping[str, Any], where: str | None = None) -> dict[str, Any]:
    """The given options of a function or of what every ``build`` takes, each in its plain type.

    Names the table does not hold for the group are passed on as they are.

    Raises:
        OptionError: a value is not accepted.
    """
    known = options_of(group)
    place = where or group
    return {
        name: known[name].read(value, place) if name in known else value
        for name, value in given.items()
    }


def read_options(
    target: str, configs: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a build for ``target``, defaults filled in; a keyword wins over ``configs``.

    Raises:
        OptionError: the target has no such option, or a value is not accepted.
    """
    known = options_of(target)
    found = {name: option.default for name, option in known.items()}
    for source, given in (("configs", configs), ("", options)):
        for name, value in given.items():
            if name not in known:
                raise _unknown(target, name, source, known)
            found[name] = known[name].read(value, f"target {target}")
    return found


def _unknown(target: str, name: str, source: str, known: Iterable[str]) -> OptionError:
    others = sorted({group for o in TABLE if o.name == name for group in o.groups} - {BUILD})
    elsewhere = f"it is an option of {', '.join(others)}; " if others else ""
    hint = elsewhere or did_you_mean(name, known)
    listed = ", ".join(sorted(known))
    if source:
        return OptionError(
            f"configs has no key {name!r} for target {target}.",
            help=f"{hint}known keys: {listed}.",
        )
    return OptionError(
        f"Target {target} has no option {name!r}.", help=f"{hint}its options: {listed}."
    )


def check_step(target: str, mode: str | None, project: str | None) -> None:
    """The step must be one the target has, and a project be asked of a target that writes one.

    Raises:
        InvalidModeError: otherwise.
    """
    modes = MODES.get(target, ())
    if project is not None and target not in PROJECTS:
        raise InvalidModeError(
            f"Target {target} writes no project, and was given project {project!r}.",
            help="leave project= out; str() of what build returns is its text, if it has one.",
        )
    listed = f"modes of {target}: {', '.join(modes)}."
    if project is not None and mode is None and target in MODE_WITH_PROJECT:
        raise InvalidModeError("mode must be specified when project is specified.", help=listed)
    if mode is not None and not modes:
        raise InvalidModeError(
            f"Target {target} has no modes, and was given mode {mode!r}.",
            help="leave mode= out.",
        )
    if mode is not None and mode not in modes:
        raise InvalidModeError(
            f"Invalid mode {mode!r} for target {target}.",
            help=f"{did_you_mean(mode, modes)}{listed}",
        )


def refuse_keywords(
    what: str, given: Mapping[str, Any], known: Iterable[str], arguments: Iterable[str] = ()
) -> None:
    """Refuse keywords a call does not take.

    Args:
        what: the call, to open the sentence: ``"A call of an RTLModule"``.
        known: the keywords it takes.
        arguments: names of arguments of the kernel, which it takes as well.

    Raises:
        OptionError: there is one; the message says the near miss.
    """
    names, passed = list(known), list(arguments)
    for name in given:
        if name in names or name in passed:
            continue
        listed = f"its options: {', '.join(names)}." if names else "it has none."
        rule = f" Arguments of the kernel: {', '.join(passed)}." if passed else ""
        raise OptionError(
            f"{what} takes no option {name!r}.",
            help=f"{did_you_mean(name, [*names, *passed])}{listed}{rule}",
        )


def bind(
    group: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> inspect.BoundArguments:
    """The arguments of a call, those that the table has rows for in their plain types.

    Raises:
        OptionError: an argument is unknown, missing or not accepted.
    """
    signature, known = _signature(function), options_of(group)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise _misfit(group, signature, kwargs, error) from None
    for name, value in bound.arguments.items():
        if name in known:
            bound.arguments[name] = known[name].read(value, group)
    return bound


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _misfit(
    group: str, signature: inspect.Signature, given: Mapping[str, Any], error: TypeError
) -> OptionError:
    names = list(signature.parameters)
    unknown = [name for name in given if name not in names]
    listed = f"it takes {', '.join(names)}."
    if unknown:
        hint = did_you_mean(unknown[0], names)
        return OptionError(f"{group} has no option {unknown[0]!r}.", help=f"{hint}{listed}")
    return OptionError(f"{group} cannot be called so: {error}.", help=listed)
