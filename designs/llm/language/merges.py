"""Learn the merges of a byte-pair encoding from text (Sennrich, Haddow and Birch, 2016).

Words are counted once, and each merge touches only the words that hold its pair, so a few
megabytes take seconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

type Pair = tuple[str, str]


def learn_merges(words: Iterable[str], count: int, least: int = 2) -> list[Pair]:
    """The ``count`` most frequent merges, in the order in which they were learnt.

    Args:
        words: the text's words, one character for each byte. Pairs never span two words.
        least: a pair seen less often than this is not merged, so the list may be shorter.
    """
    counts = Counter(words)
    spelled = [list(word) for word in counts]
    weight = list(counts.values())
    pairs: Counter[Pair] = Counter()
    holders: defaultdict[Pair, set[int]] = defaultdict(set)
    for index, symbols in enumerate(spelled):
        _count(symbols, index, weight[index], pairs, holders)
    merges: list[Pair] = []
    while len(merges) < count and pairs:
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        if pairs[best] < least:
            break
        merges.append(best)
        for index in holders.pop(best):
            _count(spelled[index], index, -weight[index], pairs, holders)
            spelled[index] = join_pair(spelled[index], best)
            _count(spelled[index], index, weight[index], pairs, holders)
        del pairs[best]
    return merges


def join_pair(symbols: list[str], pair: Pair) -> list[str]:
    """The symbols of a word with every occurrence of ``pair``, from the left, made one symbol."""
    joined: list[str] = []
    at = 0
    while at < len(symbols):
        if at + 1 < len(symbols) and (symbols[at], symbols[at + 1]) == pair:
            joined.append(symbols[at] + symbols[at + 1])
            at += 2
        else:
            joined.append(symbols[at])
            at += 1
    return joined


def _count(
    symbols: list[str],
    index: int,
    weight: int,
    pairs: Counter[Pair],
    holders: defaultdict[Pair, set[int]],
) -> None:
    for pair in zip(symbols, symbols[1:], strict=False):
        pairs[pair] += weight
        if weight > 0:
            holders[pair].add(index)
