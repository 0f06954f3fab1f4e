"""The parameters of blocks, beside those of the wide accelerator, and whether they fit."""

from __future__ import annotations

from dataclasses import dataclass

from ...conditions import check_design
from ...config import Architecture
from ..parameters import Wide, WidthError, check_sizes, check_steps, padded_vocab

MOST_LAYERS = 255
"""That a call of a design with several models can run."""


@dataclass(frozen=True, slots=True)
class Block:
    """How many tokens the wide accelerator takes at once.

    Attributes:
        rows: tokens an element multiplies a word of weights with in one cycle.
        tokens: of a block; a word of weights is read once for so many.
        most: tokens of a step. It has several blocks, which take turns in every job: while one is
            multiplied, norms, attention and GELU of the others are under way.
        norms: units of norms, each with a token of its own.
        row_lanes: tokens that residuals, norms, gates with steps of tokens, and what arranges their results
            take beside each other; with more than one, each has a unit of norms of its own.
        queries: tokens of a sequence whose queries meet a key in one cycle, and with them those of all heads
            that share the key; 0 for one query a cycle.
        spoken: tokens of a step after which it gives the logits, at most.
        slots: sequences that have keys and values in the caches, each with room for a context.
        hidden: whether a step also gives what the tokens of its logits end in: what these are products of,
            with the steps of the tokens.
        entrance: tokens that have an embedding, where a token's residual begins as the sum of this and of a
            product of what is given with it, in the form in which ``hidden`` tells it; 0 for the embeddings
            of the vocabulary alone.
        draft: logits of a draft head that the design has beside the model: a call runs the layers of the
            model, or enters and runs one layer of its own (:mod:`.tokens.resident`); 0 for the model alone.
    """

    rows: int = 4
    tokens: int = 32
    most: int = 128
    norms: int = 4
    spoken: int = 1
    slots: int = 1
    row_lanes: int = 1
    queries: int = 0
    hidden: bool = False
    entrance: int = 0
    draft: int = 0

    def across(self, tokens: int) -> int:
        """Turns of the lanes of rows in which so many tokens come."""
        return -(-tokens // self.row_lanes)


def held_layers(config: Architecture, block: Block) -> int:
    """Layers that have keys and values in a design: the model's, and that of a draft head."""
    return config.layers + (block.draft > 0)


def cached_words(config: Architecture, wide: Wide, block: Block) -> int:
    """Words of a head's width that a unit keeps of keys, and as many of values.

    An encoder has those of a step and one layer, a decoder those of all sequences, contexts and layers.
    """
    contexts = block.slots * held_layers(config, block)
    tokens = contexts * config.context if config.causal else block.most
    return tokens * config.kv_heads // wide.heads


def said_block_words(config: Architecture, wide: Wide, block: Block) -> int:
    """Words of V float32 that a step writes: logits, or an encoder's hidden values of every token."""
    logits = block.spoken * padded_vocab(config, wide)
    numbers = logits if config.has_head else block.most * config.d
    return numbers // wide.vector


def entrance_words(config: Architecture, wide: Wide) -> int:
    """Words of a channel in the job of an entrance, which has as many outputs and inputs as the width."""
    return config.d // wide.channels * -(-config.d // wide.lanes)


def lane_words(tokens: int, config: Architecture, wide: Wide, block: Block) -> int:
    """Words of V levels of a token in each lane of rows, for so many tokens."""
    return block.across(tokens) * config.d // wide.vector


def check_block(config: Architecture, wide: Wide, block: Block) -> None:
    """Refuse parameters that do not fit each other or the model.

    Raises:
        WidthError: naming both sizes, and a legal one; or what of the model's arithmetic, or of the
            parameters, blocks do not have.
    """
    check_design("block", config, WidthError)
    check_sizes(config, wide, padded=wide.bits == 8 and not (wide.block or wide.trits))
    check_steps(config, wide)
    _check_counts(block)
    if wide.bits != 8:
        raise WidthError(
            f"Blocks of tokens take weights of 8 bits, and not of {wide.bits}.",
            help="decode with four bits, one token a step.",
        )
    if wide.cache != "chip":
        raise WidthError(
            f"Blocks of tokens have no {wide.cache} place for keys and values.",
            help='leave cache at "chip", or take one token a step.',
        )
    if wide.top:
        raise WidthError(
            f"Blocks of tokens do not rank logits, and the {wide.top} largest are asked for.",
            help="leave top at 0, or take one token a step.",
        )
    for what, part, of, whole in (
        ("rows", block.rows, "tokens of a block", block.tokens),
        ("elements of a vector", wide.vector, "channels", wide.channels),
        ("channels", wide.channels, "width of a head", config.head_dim),
    ):
        if whole % part:
            raise WidthError(
                f"The {part} {what} do not divide the {of}, {whole}.",
                help=f"take {of} that are a multiple of {part}.",
            )
    if config.rotary and wide.vector < 2:
        raise WidthError(
            f"Rotary positions turn pairs, and a vector has {wide.vector} elements.",
            help="take 2 elements a vector or more.",
        )
    if config.gated and wide.channels % (2 * wide.vector):
        raise WidthError(
            f"The {wide.channels} channels do not end {wide.vector} gates and as many elements that these "
            "multiply together.",
            help=f"take channels that are a multiple of {2 * wide.vector}, or a shorter vector.",
        )
    if wide.block and wide.channels > 2 * wide.block:
        raise WidthError(
            f"The {wide.channels} channels end {wide.channels // 2} gated activations together, and a block "
            f"that shares a power of two has {wide.block}.",
            help=f"take at most {2 * wide.block} channels, or wider blocks.",
        )
    if block.norms & (block.norms - 1):
        raise WidthError(
            f"The wide accelerator has {block.norms} units of norms, which is no power of two.",
            help="norms is 1, 2, 4, 8 and so on.",
        )
    _check_lanes(config, block)
    if block.spoken > block.tokens:
        raise WidthError(
            f"Logits after {block.spoken} tokens are asked for, and a block has {block.tokens}.",
            help=f"a step gives the logits after at most {block.tokens} tokens.",
        )
    _check_hidden(config, wide, block)
    _check_draft(config, wide, block)
    if not config.causal and block.slots > 1:
        raise WidthError(
            f"An encoder keeps no keys and values, and {block.slots} sequences are to have some.",
            help="leave slots at 1.",
        )
    room = config.context * block.slots
    if block.most > room:
        of = f" of {block.slots} sequences" if block.slots > 1 else ""
        raise WidthError(
            f"A step of {block.most} tokens does not fit the context of {config.context}{of}.",
            help=f"a step has at most {room} tokens.",
        )


def _check_hidden(config: Architecture, wide: Wide, block: Block) -> None:
    if (block.hidden or block.entrance) and not (wide.block and config.causal):
        raise WidthError(
            f"What a model of the family {config.family!r} ends in is told or given, without steps of "
            "tokens.",
            help="have a decoder with steps of tokens, Wide(block=…), or leave hidden and entrance.",
        )
    if block.entrance and config.ffn < config.d:
        raise WidthError(
            f"What a token is given, {config.d} values, takes the way of the gates, of which there are "
            f"{config.ffn}.",
            help="take a model whose feed-forward width is at least the hidden width.",
        )
    if block.entrance and block.most > block.tokens:
        raise WidthError(
            f"Tokens are given values in steps of one block, {block.tokens}, and not of {block.most}.",
            help=f"take most={block.tokens}.",
        )


def _check_draft(config: Architecture, wide: Wide, block: Block) -> None:
    if not block.draft:
        return
    if not (block.hidden and block.entrance and block.queries):
        raise WidthError(
            "A design that runs a model and its draft head tells what rows end in, has an entrance, and "
            "queries that share a key.",
            help="take hidden=True, entrance= as many tokens as the head knows, and queries=1 or more.",
        )
    if not 0 < block.draft <= config.vocab:
        raise WidthError(
            f"A draft head of {block.draft} logits is asked for, and the model has {config.vocab}.",
            help="draft is a part of the vocabulary, its first tokens.",
        )
    if held_layers(config, block) > MOST_LAYERS:
        raise WidthError(
            f"A call says how many layers it runs, and cannot say {held_layers(config, block)}.",
            help=f"a model and its head have at most {MOST_LAYERS} layers together.",
        )


def _check_counts(block: Block) -> None:
    for name in ("rows", "tokens", "most", "norms", "spoken", "slots", "row_lanes"):
        if getattr(block, name) < 1:
            raise WidthError(
                f"The {name} of a block of the wide accelerator are {getattr(block, name)}.",
                help="there is at least 1.",
            )


def _check_lanes(config: Architecture, block: Block) -> None:
    lanes, tokens = block.row_lanes, block.queries
    if tokens and (tokens < 0 or tokens & (tokens - 1) or tokens > 32):
        raise WidthError(
            f"The queries of {tokens} tokens are to meet a key together.",
            help="queries is 0, or a power of two up to 32.",
        )
    if tokens and not config.causal:
        raise WidthError(
            f"Attention of an encoder takes one query a cycle, and not those of {tokens} tokens.",
            help="leave queries at 0.",
        )
    if lanes == 1:
        return
    if not config.causal:
        raise WidthError(
            f"The norms of an encoder come back to its residuals token by token, and not {lanes} at once.",
            help="leave row_lanes at 1.",
        )
    if lanes & (lanes - 1) or block.rows % lanes:
        raise WidthError(
            f"The {lanes} lanes of rows are no power of two that divides the {block.rows} rows of an "
            "element.",
            help="take 1, 2, 4, 8 and so on, and as many rows or a multiple.",
        )
    if block.norms != lanes:
        raise WidthError(
            f"There are {block.norms} units of norms for {lanes} lanes of rows.",
            help=f"each lane has one: take norms={lanes}.",
        )
