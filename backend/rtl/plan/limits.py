"""What holds a loop back, and what helps: the sentences of the column ``limited by`` of a report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """A sentence with its gaps, and the primitive or the change of the program that helps."""

    what: str
    help: str


LIMITS = {
    "sum": Limit(
        "II={ii}: {chain}",
        "`s.interleave`, or `reassociate=True`, makes several sums that take turns",
    ),
    "unknown": Limit(
        "II={ii}: {chain}",
        "`s.dependence` says so where iterations as near as that touch different elements of {array}",
    ),
    "chain": Limit(
        "II={ii}: {chain}",
        "`s.reorder` brings inside a loop whose iterations do not wait for each other; at a lower clock the "
        "chain takes fewer cycles",
    ),
    "busy": Limit(
        "II={ii}: {chain}",
        "`s.partition` {array}, or read less of it in an iteration: no port is free when the chain wants one",
    ),
    "ports": Limit(
        "II={ii}: {accesses} of bank {bank}'s {ports} ports",
        "partition {array} on dim {dim} by {banks}",
    ),
    "reads": Limit(
        "II={ii}: {accesses} of bank {bank}'s {ports} ports",
        "`s.reuse_at` or `s.buffer_at` keeps in registers what iterations read of {array} again",
    ),
    "gathers": Limit(
        "II={ii}: {accesses} of bank {bank}'s {ports} ports",
        "data say where these accesses of {array} go: unroll less, or give each of them an array of its own",
    ),
    "writes": Limit(
        "II={ii}: {accesses} of bank {bank}'s {ports} ports",
        "write {array} in fewer places of an iteration: unroll less, or collect the values first",
    ),
    "one_writes": Limit(
        "II={ii}: {accesses} of the one port that writes bank {bank}",
        "`s.partition` {array}: each bank has such a port, and blocks of this device have no second one",
    ),
    "words": Limit(
        "II={ii}: {count} {kind}s of stream {stream} ({place})",
        "one word that holds them all, as of a Stream of blocks, is one {kind}",
    ),
    "unit": Limit(
        "II={ii}: {unit} ({place}) works on one pair of operands for {count} cycles",
        "`s.bind('frem', 'pipelined')`, but for float64, takes operands in every cycle and twenty times the "
        "area; or a loop of its own for it runs beside the others under `s.dataflow`",
    ),
    "data": Limit(
        "not pipelined: whether {stream} is read ({place}) depends on data",
        "`get` in every iteration, or ask with `try_get`",
    ),
    "answer": Limit(
        "not pipelined: {stream} is read ({place}) after {written} is written ({there}), "
        "perhaps in answer to it",
        "read {stream} first, or write {written} in a loop of its own, in front",
    ),
    "asked": Limit(
        "not pipelined: {stream} is {verb}, which waits ({place}), and {tried} is asked without waiting "
        "({there})",
        "wait first, or never: `try_get` and `try_put` for both",
    ),
    "asked elsewhere": Limit(
        "not pipelined: {stream} is {verb}, which waits ({place}), and elsewhere in the process it is asked "
        "without waiting",
        "`try_get` and `try_put` here too, or a process of its own for this loop",
    ),
    "ahead": Limit(
        "counts to its end, though it may be left early: {words} of {stream} are taken ahead ({place})",
        "where it must stop at once, leave out `s.pipeline`",
    ),
    "waits": Limit(
        "not pipelined: it {verb} {stream} ({place})",
        "a `for` loop with a bound and a `break` may be pipelined",
    ),
    "gains nothing": Limit(
        "not pipelined, as it gains nothing: {limit}",
        "a `for` loop with a bound, and what it carries computed in fewer steps",
    ),
    "holds a loop": Limit(
        "not pipelined: it holds a loop ({place})",
        "as a `for` loop with a bound and a `break` it may be one pipeline with the loop inside",
    ),
    "holds a while loop": Limit(
        "not pipelined: it holds a while loop ({place})",
        "a `for` loop with a bound and a `break` in its place joins a pipeline; else `s.dataflow` of the "
        "function lets it run beside others, which `s.unroll` of it never does",
    ),
    "holds a call": Limit(
        "not pipelined: it holds a call ({place})",
        "`s.dataflow` of the loop lets its parts run at once; "
        "`s.pipeline` of it copies a small function into it",
    ),
    "holds a move of an array": Limit(
        "not pipelined: it holds a move of an array ({place})",
        "move the elements in a loop, which `s.pipeline` of this one unrolls",
    ),
}


def limit(kind: str, /, **gaps: object) -> str:
    """A row of the table with its gaps filled: what limits a loop, and what helps."""
    row = LIMITS[kind]
    return f"{row.what}; {row.help}".format(**gaps)


def markdown() -> str:
    """The table as a page shows it; gaps are in angle brackets."""
    rows = ["| limited by | what helps |", "|---|---|"]
    for row in LIMITS.values():
        cells = (text.replace("{", "⟨").replace("}", "⟩") for text in (row.what, row.help))
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)
