"""Where Allo differs from the published Allo on purpose, as the errors say it.

``docs/coming_from.md`` lists the same differences in the same words.
"""

SUBSCRIPT = (
    "on purpose: the published Allo compiles a constant subscript outside its array, and reads or "
    "writes what lies there."
)
FACTOR = (
    "on purpose: the published Allo takes a block or cyclic partition without a factor as none, and "
    "changes nothing."
)
INSTANTIATE = (
    "on purpose: the published Allo ignores template arguments of a function that has no template "
    "parameters."
)
COMPOSE = (
    "on purpose: the published Allo replays a schedule by its names, also on a function of other "
    "types or shapes."
)
VERIFY = (
    "on purpose: the published Allo gives an answer also for programs with different arguments or "
    "results."
)
