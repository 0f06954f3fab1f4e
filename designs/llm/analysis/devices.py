"""Equations (21) to (24): a token on several devices, beside (11) and (12).

Tensor parallel divides the words of (13) by p1 and adds an exchange behind the second and the fourth job of
every layer; pipeline parallel divides the layers by p2 and adds a way to the next stage. What (12) has
under its maximum is the time in which a stage can take the next token, and what it has before it is the
time of one token through all stages. A link takes a word of V elements of 32 bits every n cycles, and a word
can be got m cycles after it was put. Time is in cycles.
"""

from __future__ import annotations

from dataclasses import dataclass

from .data import ModelInputError, Transformer
from .engine import (
    CALL,
    Depths,
    Engine,
    activation_pause,
    attention_pause,
    drain,
    norm_pause,
    time_of_words,
    word_rate,
    words_of_layer,
    words_of_logits,
)

WORD = 4
"""Bytes of an element on a link: int32 partial sums, float32 residuals."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A link in cycles, from what the link's constructor makes of bytes and seconds: n and m."""

    interval: float
    latency: float


@dataclass(frozen=True, slots=True)
class LinkDepths:
    """Cycles of one iteration of the loops that are for the links' sake, as the compiler's report has them.

    ``choose`` is what finds the largest logit behind the last; ``vote`` a hop of the election.
    """

    send: float
    add: float
    leave: float
    enter: float
    choose: float
    vote: float


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """What a run of tokens takes, in cycles.

    Attributes:
        cycles: the whole run.
        token: one token through all stages, and back to the first.
        stage: in which the slowest stage can take the next token.
        exchanges: of ``token``, what the exchanges of partial sums add.
        handovers: of ``token``, what the links between stages add.
    """

    cycles: float
    token: float
    stage: float
    exchanges: float
    handovers: float


def exchange(rows: float, job: float, parts: int, wire: Wire, depths: LinkDepths) -> float:
    """(21) E: from the last partial sum of a device to the last sum of all p1, less its own way.

    A device sends R words while its job makes them, then adds those of the others, hop by hop. With
    b = max(0, R n - t_j), what the link is behind the job, and s_1 = d_send + CALL:

    e_1 = max(s_1 + R, d_send + b + m), and for every further hop
    s_h = max(e_(h-1) + CALL, s_(h-1) + m),
    e_h = max(s_h + R, e_(h-1) + m, s_(h-1) + m + (R - 1) n); E = e_(p1 - 1) + d_add.
    """
    if parts == 1:
        return 0.0
    behind = max(0.0, rows * wire.interval - job)
    start = depths.send + CALL
    end = max(start + rows, depths.send + behind + wire.latency)
    for _ in range(parts - 2):
        passed = start + wire.latency
        start, end = (
            max(end + CALL, passed),
            max(
                max(end + CALL, passed) + rows,
                end + wire.latency,
                passed + (rows - 1) * wire.interval,
            ),
        )
    return end + depths.add


@dataclass(frozen=True, slots=True)
class Shares:
    """How a model is shared out.

    Attributes:
        tensor: devices that share every layer.
        pipeline: stages, each with some of the layers.
        sequences, rounds: sequences that are decoded in turns, and the tokens of each in a run.
    """

    tensor: int = 1
    pipeline: int = 1
    sequences: int = 1
    rounds: int = 1


def devices_time(
    model: Transformer,
    engine: Engine,
    depths: Depths,
    links: LinkDepths,
    wire: Wire,
    position: int,
    shares: Shares,
    bytes_per_cycle: float = float("inf"),
) -> DeviceTime:
    """(24) T = T_1 + (rounds - 1) max(T_1, S tau) + (S - 1) tau: a run of tokens of S sequences in turns.

    T_1 is (19) for a share, with (21) behind every exchange and (22) between two stages; tau is (23), the
    time of the slowest stage from a token's first word to the next one's, whose first norm is done meanwhile.

    (22) H = P_n + E + d_leave + b + m + d_enter; (23) tau = the sum of t_j, and of all P_j but the first.

    Raises:
        ModelInputError: the layers or the heads cannot be shared out so.
    """
    tensor, pipeline, sequences = shares.tensor, shares.pipeline, shares.sequences
    if model.layers % pipeline:
        raise ModelInputError(f"{pipeline} stages do not divide the {model.layers} layers.")
    if model.heads % tensor:
        raise ModelInputError(f"{tensor} devices do not divide the {model.heads} heads.")
    rows, layers = model.hidden / engine.vector, model.layers // pipeline
    words = words_of_layer(model, engine, tensor)
    rate = word_rate(engine, bytes_per_cycle)
    through = 2.0 if tensor > 1 else 0.0
    norm = norm_pause(model, engine, depths)
    sums = [exchange(rows, job / rate, tensor, wire, links) for job in (words[1], words[3])]
    keeping = 2.0 if pipeline > 1 else 0.0
    behind = max(0.0, rows * wire.interval - words[3] / rate)
    handover = norm + sums[1] + links.leave + behind + wire.latency + links.enter
    inside = (
        attention_pause(model, engine, depths, position, tensor) + through,
        norm + sums[0] + keeping,
        activation_pause(model, engine, depths, tensor) + through,
    )
    first = norm - drain(engine, depths) + depths.embed + rows + links.enter + 1
    token, stage, ahead = 0.0, 0.0, 0.0
    for at in range(pipeline):
        last = at == pipeline - 1
        pauses: list[float] = []
        jobs: list[float] = []
        for layer in range(layers):
            entered = handover if at else first
            pauses += [norm + sums[1] + keeping if layer else entered, *inside]
            jobs += words
        if last:
            pauses.append(norm + sums[1])
            jobs.append(words_of_logits(model, engine, tensor))
        busy = 0.0
        for pause, job in zip(pauses, jobs, strict=True):
            ahead = min(float(engine.prefetch), ahead + rate * pause)
            cycles, ahead = time_of_words(job, ahead, rate)
            busy += pause + cycles
        token += busy
        stage = max(stage, busy - pauses[0] + CALL)
    vote = (tensor - 1) * (wire.latency + links.vote)
    back = wire.latency if pipeline > 1 else 1.0
    token += drain(engine, depths) + through + depths.say + links.choose + vote + back
    turns = max(token, sequences * stage)
    cycles = token + (shares.rounds - 1) * turns + (sequences - 1) * stage
    return DeviceTime(
        cycles, token, stage, model.layers * sum(sums), (pipeline - 1) * (handover - norm - sums[1])
    )
