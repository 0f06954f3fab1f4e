"""The parameters of the wide accelerator, and whether they fit a model."""

from __future__ import annotations

from dataclasses import dataclass

from allo.errors import AlloError

from ..conditions import check_design
from ..config import Architecture
from ..ternary.packing import bytes_of
from .families.model import job_sizes

MOST_READ = 1 << 24
"""Keys that ``external.attend.keep`` counts in a layer, for all heads of a unit."""


class WidthError(AlloError):
    """Parameters of the wide accelerator that do not fit each other or the model."""


@dataclass(frozen=True, slots=True)
class Wide:
    """The parameters of one wide accelerator.

    Attributes:
        channels: memory channels that hold weights, each with a processing element beside it.
        lanes: bytes of weights an element takes a cycle, which is a word of its channel.
        vector: elements the vector units take at once, V.
        heads: heads at work at once, each on a head's width of multipliers twice.
        prefetch: words of weights a channel's loader may be ahead; it hides what the elements wait for.
        gelu_interval: cycles between two words of V GELUs, or of the family's other activation.
        rescale_interval: cycles between two words of V rescaled sums.
        parts: running sums of a norm that take turns; at least the stages of a float adder, or the
            norms wait for it.
        bits: of a weight, 8 or 4; the logits' weights have 8. With 4, a word holds two weights a lane.
        top: the largest logits that a step gives with their tokens; 0 for none.
        all_logits: whether a step writes every logit; with ``top`` it need not.
        cache: where keys and values are: ``"chip"``; ``"external"``, behind memory ports that may wait,
            from which they are streamed ahead of their use; or ``"channels"``, in those of the weights,
            whose readers move both in an order that is known beforehand.
        trits: ternary weights of a word, five in a byte (:mod:`..ternary`), the logits' among them; 0 for
            weights of ``bits`` in words of ``lanes`` bytes.
        weights: where weights are: ``"channels"`` of external memory, or ``"chip"``, one memory of the chip
            for each element, which gives a word every cycle.
        block: activations that share a power of two, where each token has a step of its own
            (:mod:`..checkpoints.blocks`): those of a word of the elements, and with weights of 4 bits those
            of half a word, whose weights then have a step and an offset, too. 0 for static steps.
        keys: keys of a head, and values, that a unit takes a cycle from external memory.
        cache_prefetch: words of a head's width that may be ahead, of the keys of a unit and of its
            values, from external memory.
        cache_bits: of an element of keys and values, 8, or in the channels of the weights 4 with a step for
            ``cache_group`` elements of a head and position (:mod:`.external.nibble_cache`).
        cache_group: those elements.
        regions: channels in each of three regions of a device, between which words pass FIFOs
            (:mod:`.external.regions`); empty for a device of one, or where nobody says.
    """

    channels: int = 32
    lanes: int = 64
    vector: int = 16
    heads: int = 4
    prefetch: int = 1024
    gelu_interval: int = 4
    rescale_interval: int = 1
    parts: int = 8
    bits: int = 8
    top: int = 0
    all_logits: bool = True
    cache: str = "chip"
    cache_prefetch: int = 512
    keys: int = 1
    block: int = 0
    trits: int = 0
    weights: str = "channels"
    cache_bits: int = 8
    cache_group: int = 32

    @property
    def kept_group(self) -> int:
        """Elements of a key that share a step, where keys and values have four bits; or else 0."""
        return self.cache_group if self.cache_bits == 4 else 0

    @property
    def kept_block(self) -> int:
        """Positions whose steps, of keys and of values, fill a line; 0 without steps."""
        return self.kept_group // 2

    regions: tuple[int, ...] = ()

    def spans(self, each: int = 1) -> tuple[tuple[int, int], ...]:
        """The first channel of each region and the one behind its last, or units of ``each`` channels.

        Without regions, each channel is alone.
        """
        parts = [size // each for size in self.regions or (1,) * self.channels]
        return tuple((sum(parts[:r]), sum(parts[: r + 1])) for r in range(len(parts)))

    @property
    def unit_spans(self) -> tuple[tuple[int, int], ...]:
        """The same of the units of attention."""
        if not self.regions:
            return tuple((unit, unit + 1) for unit in range(self.heads))
        return self.spans(self.across)

    def region_of(self, each: int = 1) -> tuple[int, ...]:
        """The region of each channel, or of each unit of ``each`` channels."""
        spans = enumerate(self.spans(each))
        return tuple(region for region, (first, end) in spans for _ in range(first, end))

    @property
    def activations(self) -> int:
        """Activations in a word that spreads to the elements.

        They are as many as a word has weights, or half as many where it has two outputs' by each.
        """
        return self.trits or self.lanes * (2 if self.group else 1)

    @property
    def weighs(self) -> int:
        """Weights of a layer's job in a word."""
        return self.trits or self.lanes * 8 // self.bits

    @property
    def word(self) -> int:
        """Bytes of a word of weights."""
        return bytes_of(self.trits) if self.trits else self.lanes

    @property
    def last_weights(self) -> int:
        """Weights of the logits in a word."""
        return self.trits or self.lanes

    @property
    def ahead(self) -> int:
        """Words that a loader may be ahead; memories of the chip need no more than keep it in step."""
        return self.prefetch if self.weights == "channels" else 2

    @property
    def across(self) -> int:
        """Channels of a unit of attention, where these hold the cache: its keys lie side by side on them."""
        return max(1, self.channels // self.heads)

    @property
    def group(self) -> int:
        """Inputs that share a step and an offset of four-bit weights; 0 without offsets."""
        return self.lanes if self.bits == 4 and self.block else 0

    @property
    def described(self) -> int:
        """Words of four-bit weights whose steps, and offsets, stand in one word in front of them."""
        return self.lanes // 4 if self.group else self.lanes


def padded_vocab(config: Architecture, wide: Wide) -> int:
    """Outputs of the logits' job: the vocabulary, and outputs of zero weights up to whole words.

    A model without logits has no such job, and so none.
    """
    if not config.has_head:
        return 0
    unit = max(wide.channels, wide.vector)
    return -(-config.vocab // unit) * unit


def lists(config: Architecture, wide: Wide) -> int:
    """Lists of the largest logits: as many as the elements end logits in a cycle, so none waits."""
    ended = -(-wide.channels * wide.last_weights // config.d)
    return min(wide.vector, 1 << (ended - 1).bit_length())


def said_words(config: Architecture, wide: Wide) -> int:
    """Words of V float32 that a step writes: all logits, then a word for each of the largest."""
    every = padded_vocab(config, wide) // wide.vector if wide.all_logits else 0
    return every + wide.top


def job_words(config: Architecture, wide: Wide) -> tuple[tuple[int, ...], int]:
    """Words of a channel in the four jobs of a layer, and in the job of the logits.

    The last word of an output is padded where its inputs do not fill it.
    With weights of four bits, every ``described`` words of a layer's job follow one of their steps.
    """
    jobs = tuple(
        outputs // wide.channels * -(-inputs // wide.weighs)
        for outputs, inputs in job_sizes(config)
    )
    if wide.bits == 4:
        jobs = tuple(words + -(-words // wide.described) for words in jobs)
    return jobs, padded_vocab(config, wide) // wide.channels * -(-config.d // wide.last_weights)


def channel_size(config: Architecture, wide: Wide) -> int:
    """Words that a channel holds."""
    jobs, last = job_words(config, wide)
    return config.layers * sum(jobs) + last


def kept_lines(config: Architecture, wide: Wide) -> int:
    """Lines of keys, and of values, of a head on each channel of its unit, where these hold the cache."""
    return -(-config.context // wide.across)


def page_lines(config: Architecture, wide: Wide) -> int:
    """Lines of keys and values of a head on each channel of its unit."""
    return lines_of_rows(kept_lines(config, wide), wide.kept_block)


def lines_of_rows(rows: int, block: int) -> int:
    """Lines of the keys and values of so many rows of a channel.

    A line is a key or a value; of four bits it is both, and a line of steps is before every ``block``.
    """
    return rows + -(-rows // block) if block else 2 * rows


def check_wide(config: Architecture, wide: Wide) -> None:
    """Refuse parameters that do not fit each other or the model.

    Raises:
        WidthError: naming both sizes, and the nearest legal one; or what of the model's arithmetic the
            accelerator does not have.
    """
    check_design("wide", config, WidthError)
    check_sizes(config, wide)
    check_steps(config, wide)
    if config.rotary and wide.vector < 2:
        raise WidthError(
            f"Rotary positions turn pairs, and a vector has {wide.vector} elements.",
            help="take 2 elements a vector or more.",
        )


def check_steps(config: Architecture, wide: Wide) -> None:
    """Refuse steps of tokens that do not fit the words of the elements or the model.

    Raises:
        WidthError: naming both.
    """
    if not wide.block:
        return
    if not (config.rms and config.gated):
        raise WidthError(
            f"Steps of tokens are built for norms by the root mean square and gates, and not for a model of "
            f"the family {config.family!r}.",
            help="take static steps, block=0.",
        )
    if wide.bits == 4 and wide.lanes < 4:
        raise WidthError(
            f"A word of {wide.lanes} bytes does not hold the steps and offsets of two groups.",
            help="take 4 lanes or more.",
        )
    if wide.block != wide.lanes:
        what = "word of the elements" if wide.bits == 8 else "group of weights of four bits"
        raise WidthError(
            f"A block of {wide.block} activations is not a {what}, which has {wide.lanes}.",
            help=f"take block={wide.lanes}, and quantise the model with it.",
        )


def check_sizes(config: Architecture, wide: Wide, padded: bool = False) -> None:
    """Refuse sizes that do not fit each other or those of the model.

    Args:
        padded: whether lanes may be any number of vectors, where an output's last word is padded.

    Raises:
        WidthError: naming both sizes, and the nearest legal one.
    """
    for name in ("channels", *(() if padded else ("lanes",)), "vector", "parts", "keys"):
        value = getattr(wide, name)
        if value < 1 or value & (value - 1):
            raise WidthError(
                f"The wide accelerator has {value} {name}, which is no power of two.",
                help=f"{name} is 1, 2, 4, 8 and so on.",
            )
    for name in ("heads", "prefetch", "gelu_interval", "rescale_interval", "cache_prefetch"):
        if getattr(wide, name) < 1:
            raise WidthError(
                f"The {name} of the wide accelerator is {getattr(wide, name)}.",
                help="it is at least 1.",
            )
    if wide.bits not in (4, 8):
        raise WidthError(
            f"The wide accelerator has weights of {wide.bits} bits.", help="ask for 8 or 4."
        )
    if wide.cache not in ("chip", "external", "channels"):
        raise WidthError(
            f"The wide accelerator has no place called {wide.cache!r} for keys and values.",
            help='cache is "chip", "external" or "channels".',
        )
    if wide.cache == "chip" and wide.keys > 1:
        raise WidthError(
            f"A unit takes one key a cycle from the memories of the chip, and not {wide.keys}.",
            help='have keys and values outside, cache="external", or keys=1.',
        )
    _check_weights(wide)
    _check_cache_bits(config, wide)
    _check_top(config, wide)
    _check_channels(config, wide)
    read = (config.context - 1) * config.kv_heads // wide.heads
    if wide.cache == "external" and read >= MOST_READ:
        raise WidthError(
            f"A unit reads {read:,} keys of a layer from external memory for a token, and its counter "
            f"ends at {MOST_READ - 1:,}.",
            help=f"have more heads at once than {wide.heads}, or a shorter context than {config.context:,}.",
        )
    v, hd, what = wide.vector, config.head_dim, "lanes"
    if wide.trits:
        what = "ternary weights of a word"
    elif wide.bits == 4:
        what = f"weights of four bits that {wide.lanes} lanes take"
    if not padded:
        _divides(what, wide.weighs, "hidden width", config.d)
        _divides(what, wide.weighs, "feed-forward width", config.ffn)
    if wide.bits == 4 and not wide.block:
        _check_pairs(config, wide)
    _divides("channels", wide.channels, "hidden width", config.d)
    _divides("channels", wide.channels, "feed-forward width", config.ffn)
    what = "heads" if config.heads == config.kv_heads else "heads of keys and values"
    _divides("heads at once", wide.heads, f"number of {what}", config.kv_heads)
    _divides("channels", wide.channels, "width of q, k and v together", job_sizes(config)[0][0])
    if wide.trits:
        _divides("elements of a vector", v, "number of ternary weights of a word", wide.trits)
    else:
        _divides("elements of a vector", v, "number of lanes", wide.lanes)
    _divides("elements of a vector", v, "width of a head", hd)
    _divides(f"elements of {wide.parts} rows of a norm", v * wide.parts, "hidden width", config.d)


def _check_pairs(config: Architecture, wide: Wide) -> None:
    """Whether words of four-bit weights, which hold those of two outputs of a channel, hold a job's."""
    if wide.lanes < 2:
        raise WidthError(
            "A word of one byte does not hold the steps of two outputs.",
            help="take 2 lanes or more.",
        )
    for outputs, _ in job_sizes(config):
        if outputs % (2 * wide.channels):
            raise WidthError(
                f"With weights of four bits a channel has its outputs two by two, and {wide.channels} "
                f"channels have {outputs} outputs of a job.",
                help="take half as many channels, or weights of 8 bits.",
            )


def _check_weights(wide: Wide) -> None:
    """Whether weights can be what and where they are asked for."""
    if wide.weights not in ("channels", "chip"):
        raise WidthError(
            f"The wide accelerator has no place called {wide.weights!r} for weights.",
            help='weights is "channels" or "chip".',
        )
    if wide.weights == "chip" and wide.cache != "chip":
        raise WidthError(
            f"With weights on the chip, keys and values are not in {wide.cache!r} memory.",
            help='take cache="chip", too.',
        )
    if not wide.trits:
        return
    if wide.trits < 4 or wide.trits & (wide.trits - 1):
        raise WidthError(
            f"A word has {wide.trits} ternary weights, which is no power of two, or less than 4.",
            help="trits is 4, 8, 16 and so on, or 0.",
        )
    for what, is_asked in (
        (f"{wide.bits} bits", wide.bits != 8),
        (f"steps of tokens, block={wide.block}", wide.block > 0),
        ('keys in their channels, cache="channels"', wide.cache == "channels"),
    ):
        if is_asked:
            raise WidthError(
                f"Ternary weights have no {what}.",
                help="take trits with static steps, and bits and cache as they are by default.",
            )


def _check_cache_bits(config: Architecture, wide: Wide) -> None:
    """Whether keys and values can have so many bits."""
    if wide.cache_bits == 8:
        return
    if wide.cache_bits != 4 or wide.cache != "channels":
        raise WidthError(
            f"The wide accelerator has no keys and values of {wide.cache_bits} bits in the place called "
            f"{wide.cache!r}.",
            help='take cache_bits=8, or 4 with cache="channels".',
        )
    group = wide.cache_group
    if group < 4 or group & (group - 1) or config.head_dim % group:
        raise WidthError(
            f"{group} elements with a step in common do not divide a head of {config.head_dim}, or are no "
            f"power of two.",
            help="cache_group is 4, 8, 16 and so on, up to the width of a head.",
        )


def _check_channels(config: Architecture, wide: Wide) -> None:
    """Whether the channels of a unit of attention hold its keys and values."""
    if wide.cache != "channels":
        return
    if wide.channels % (wide.keys * wide.heads):
        raise WidthError(
            f"{wide.heads} units with {wide.keys} keys at once take a line from each of "
            f"{wide.heads * wide.keys} channels, which do not divide the {wide.channels} that there are.",
            help=f"take keys={wide.across} or less, or other heads at once.",
        )
    if wide.lanes != config.head_dim:
        raise WidthError(
            f"A line of {wide.lanes} bytes is no key of a head of {config.head_dim} elements.",
            help=f"take {config.head_dim} lanes, or cache='external'.",
        )
    if wide.lanes % (4 * wide.vector):
        raise WidthError(
            f"A line of {wide.lanes} bytes does not hold rows of {wide.vector} numbers of 4 bytes.",
            help=f"take a vector of {wide.lanes // 4} elements or less.",
        )
    if wide.cache_prefetch < config.context:
        raise WidthError(
            f"The values of a head of {config.context} tokens wait for the peak of its scores, and only "
            f"{wide.cache_prefetch} fit.",
            help=f"take cache_prefetch={config.context} or more.",
        )


def _check_top(config: Architecture, wide: Wide) -> None:
    if not 0 <= wide.top <= config.vocab:
        raise WidthError(
            f"The wide accelerator keeps the {wide.top} largest of {config.vocab} logits.",
            help=f"top is from 0 to {config.vocab}.",
        )
    if wide.top and wide.vector < 2:
        raise WidthError(
            "A logit and its token do not fit a word of one element.", help="vector is at least 2."
        )
    if not wide.top and not wide.all_logits:
        raise WidthError(
            "The wide accelerator would write no logits at all.",
            help="give a top of at least 1, or leave all_logits.",
        )


def _divides(what: str, part: int, of: str, whole: int) -> None:
    if whole % part == 0:
        return
    near = max(n for n in (1 << k for k in range(whole.bit_length())) if whole % n == 0)
    raise WidthError(
        f"The {part} {what} do not divide the {of}, {whole}.",
        help=f"the largest power of two that does is {near}.",
    )
