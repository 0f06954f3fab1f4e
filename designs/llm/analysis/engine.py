"""Equations (13) to (19): one linear engine in time for all layers, beside its memory channels.

Equations (1) to (12) give every operator multipliers of its own. Here C channels of ``lanes`` bytes a
word feed one engine, which does a token's jobs one after the other: of every layer q, k and v, the
projection, and the two feed-forward products (of a gated layer the first one is twice as wide), and
behind the last layer the logits. So the maximum of (8) becomes a sum, and what (8) leaves out is here:
filling and draining of pipelines, norms and softmax between two jobs, the rate of one channel, and how
far its loader reads ahead in a pause. Time is in cycles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .data import ModelInputError, Transformer, require_positive

CALL = 3
"""Cycles in which a loop that a job enters starts, and hands its first word on."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A linear engine beside its channels, and the units around it.

    Attributes:
        channels: memory channels, C, each with a processing element.
        lanes: bytes of a word of a channel, L; an element takes a word a cycle.
        vector: elements the vector units take at once, V.
        heads: heads at work at once, U.
        prefetch: words a channel's loader may be ahead, P.
        gelu_interval: cycles between two words of the activation function.
        bits: of a weight, b_W; the logits' weights have 8.
        trits: ternary weights of a word, the logits' among them; 0 for weights of ``bits``.
    """

    channels: int = 32
    lanes: int = 64
    vector: int = 16
    heads: int = 4
    prefetch: int = 1024
    gelu_interval: int = 4
    bits: int = 8
    trits: int = 0

    @property
    def weights(self) -> int:
        """Weights of a word, k = 8 L / b_W."""
        return self.trits or self.lanes * 8 // self.bits


@dataclass(frozen=True, slots=True)
class Depths:
    """Cycles of one iteration of the units' loops, as the compiler's report has them.

    ``normalise`` is a whole norm without its two passes of d / V rows.
    """

    multiply: float
    gather: float
    rescale: float
    spread: float
    normalise: float
    bend: float
    pack: float
    deal: float
    score: float
    mix: float
    turn: float
    divide: float
    embed: float
    say: float


@dataclass(frozen=True, slots=True)
class StepTime:
    """What a token takes, in cycles.

    Attributes:
        cycles: the whole step.
        compute: in which every element takes a word a cycle.
        memory: the least in which the channels can move the words.
        pauses: in which the elements wait for activations.
        starved: in which the elements wait for words.
    """

    cycles: float
    compute: float
    memory: float
    pauses: float
    starved: float


def words_of_layer(
    model: Transformer, engine: Engine, shares: int = 1
) -> tuple[float, float, float, float]:
    """(13) n_j = W_j / (C k): words of a channel in the jobs of a layer, which some devices may share.

    Weights of four bits have a word of steps in front of every L words: n_j + ceil(n_j / L).
    """
    at_once = engine.channels * engine.weights * shares
    widened = 2 * model.ffn if model.gated else model.ffn
    outputs = (
        (model.hidden + 2 * model.kv_width) * model.hidden,
        model.hidden**2,
        widened * model.hidden,
        model.hidden * model.ffn,
    )
    first, second, third, last = (_with_steps(size / at_once, engine) for size in outputs)
    return first, second, third, last


def _with_steps(words: float, engine: Engine) -> float:
    return words if engine.bits == 8 else words + -(-words // engine.lanes)


def words_of_logits(model: Transformer, engine: Engine, shares: int = 1) -> float:
    """(13) for the logits: V_p d / (C L), with the vocabulary padded to whole words of every share."""
    unit = max(engine.channels, engine.vector) * shares
    padded = -(-model.vocab // unit) * unit
    return padded * model.hidden / (engine.channels * (engine.trits or engine.lanes) * shares)


def time_of_words(words: float, ahead: float, rate: float, uses: int = 1) -> tuple[float, float]:
    """Cycles of n words used b times each, of which A are there in advance, and what is left of A.

    The engine takes 1 / b words a cycle. Where the memory gives rho < 1 / b: q = min(n, A / (1 - b rho))
    words at b cycles, the others at 1 / rho.
    """
    if rate * uses >= 1.0:
        return words * uses, ahead
    quick = min(words, max(0.0, ahead) / (1.0 - rate * uses))
    return quick * uses + (words - quick) / rate, ahead - quick * (1.0 - rate * uses)


def word_rate(engine: Engine, bytes_per_cycle: float) -> float:
    """(14) rho = min(1, beta / L): words a cycle that a channel of beta bytes a cycle gives."""
    require_positive("The bandwidth of a channel", bytes_per_cycle)
    return min(1.0, bytes_per_cycle / engine.lanes)


def drain(engine: Engine, depths: Depths) -> float:
    """(15) P_r: from an element's last word to the last result, through the vector units' pipelines."""
    joined = max(1, engine.channels // engine.vector) + depths.gather
    return depths.multiply + joined + depths.rescale + CALL


def norm_pause(model: Transformer, engine: Engine, depths: Depths) -> float:
    """(16) P_n = P_r + P_norm + d / V + P_s: the residual is added while results come, then the norm."""
    whole = depths.normalise + model.hidden / engine.vector + 1
    return drain(engine, depths) + whole + _spread(depths)


def attention_pause(
    model: Transformer, engine: Engine, depths: Depths, position: int, shares: int = 1
) -> float:
    """(17) P_a: from the last weight of q, k and v to the first activation of the projection.

    Each of U units has H = heads / U heads of l + 1 keys, a key a cycle. Its scores begin when the keys
    are there, while the elements are still at v; the values follow the scores by a head.
    """
    if model.heads % (engine.heads * shares):
        raise ModelInputError(
            f"{engine.heads} heads at once do not divide the {model.heads} heads of {model.name}."
        )
    per_unit, keys = model.heads // (engine.heads * shares), position + 1
    job = words_of_layer(model, engine, shares)[0]
    values = model.kv_width / (model.hidden + 2 * model.kv_width)
    dealt = drain(engine, depths) + depths.pack + depths.deal + CALL
    scored = dealt - job * values + depths.score + 2 * per_unit
    mixing = max(dealt + per_unit, scored + keys)
    mixed = max(mixing + per_unit * keys, scored + per_unit * keys + keys)
    divided = depths.turn + engine.heads * model.head_width / engine.vector
    return mixed + depths.mix + divided + depths.divide + _spread(depths) + CALL


def activation_pause(model: Transformer, engine: Engine, depths: Depths, shares: int = 1) -> float:
    """(18) P_g = max(d_F / k, P_r + P_gelu + P_s): activations follow results, and fill the elements."""
    behind = drain(engine, depths) + depths.bend + _spread(depths)
    return max(model.ffn / (engine.weights * shares), behind)


def _spread(depths: Depths) -> float:
    return depths.spread + CALL


@dataclass(frozen=True, slots=True)
class Job:
    """One product of a step.

    Attributes:
        pause: cycles before it, in which the elements wait for its activations.
        words: words of a channel.
        behind: cycles that the vector units need for its results, a word of V at their interval.
    """

    pause: float
    words: float
    behind: float


def jobs(model: Transformer, engine: Engine, depths: Depths, position: int) -> Iterator[Job]:
    """Every job of a step, in order."""
    words = words_of_layer(model, engine)
    norm = norm_pause(model, engine, depths)
    first = norm - drain(engine, depths) + depths.embed + model.hidden / engine.vector
    pauses = (
        norm,
        attention_pause(model, engine, depths, position),
        norm,
        activation_pause(model, engine, depths),
    )
    rows = model.hidden / engine.vector
    widened = model.ffn / engine.vector * engine.gelu_interval
    behind = (rows + 2 * model.kv_width / engine.vector, rows, widened, rows)
    for layer in range(model.layers):
        for pause, count, results in zip(
            (norm if layer else first, *pauses[1:]), words, behind, strict=True
        ):
            yield Job(pause, count, results)
    if model.vocab:
        yield Job(norm, words_of_logits(model, engine), model.vocab / engine.vector)


def step_time(
    model: Transformer,
    engine: Engine,
    depths: Depths,
    position: int,
    bytes_per_cycle: float = float("inf"),
    latency: float = 0.0,
    cache_bytes: float = 0.0,
) -> StepTime:
    """(19) T = sum of (P_j + t_j), and P_r at the end: the token at ``position``.

    In a pause the loaders get ahead: A = min(P, A + rho P_j). Then a job takes a word a cycle while it
    has some in advance, and rho words a cycle after that: with q = min(n_j, A / (1 - rho)),
    t_j = q + (n_j - q) / rho, and A - q (1 - rho) is left. Where the vector units need longer for a
    job's results than the job takes, the next pause is longer by the difference. A cache in the memory
    takes the channels for t_c = bytes / (C beta) cycles of each layer's attention: P_a is at least that,
    and A grows by rho (P_a - t_c).

    Args:
        bytes_per_cycle: what one channel gives, beta.
        latency: cycles to the first word.
        cache_bytes: keys and values of a layer that come from the memory; 0 for a cache on the chip.
    """
    rate = word_rate(engine, bytes_per_cycle)
    cached = cache_bytes / (engine.channels * bytes_per_cycle)
    ahead, pauses, taken, total, late = -latency * rate, 0.0, 0.0, 0.0, 0.0
    for number, job in enumerate(jobs(model, engine, depths, position)):
        held = cached if number % 4 == 1 else 0.0
        pause = max(job.pause + late, held)
        ahead = min(float(engine.prefetch), ahead + rate * (pause - held))
        cycles, ahead = time_of_words(job.words, ahead, rate)
        late = max(0.0, job.behind - cycles)
        pauses += pause
        taken += cycles
        total += job.words
    whole = pauses + taken + late + drain(engine, depths) + depths.say
    memory = total * engine.lanes / bytes_per_cycle + model.layers * cached
    return StepTime(whole, total, memory, pauses, taken - total)
