"""Which token follows: the likeliest one, or one of the k likeliest by chance from a seed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from allo.errors import AlloError

from ..wide.candidates.largest import Candidates, largest


class SamplingError(AlloError, ValueError):
    """A temperature or a number of candidates that choose nothing."""


@dataclass(slots=True)
class Sampler:
    """Chooses tokens from logits; the same seed and the same logits give the same tokens.

    Attributes:
        candidates: the likeliest tokens among which chance decides; 1 is greedy, and the lowest token
            wins a tie.
        temperature: logits are divided by it before chance decides.
        seed: of the random numbers.
        share: chance decides among as few of the candidates as have this share of the probability of all
            (nucleus sampling, Holtzman et al., 2020).
    """

    candidates: int = 1
    temperature: float = 1.0
    seed: int = 0
    share: float = 1.0
    _rng: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.candidates < 1 or not self.temperature > 0.0:
            raise SamplingError(
                f"{self.candidates} candidates at a temperature of {self.temperature} choose nothing.",
                help="take at least one candidate, and a temperature above zero.",
            )
        if not 0.0 < self.share <= 1.0:
            raise SamplingError(
                f"Candidates with a share of {self.share} of the probability choose nothing.",
                help="take a share above 0 and at most 1.",
            )
        self._rng = np.random.default_rng(self.seed)

    def choose(self, logits: np.ndarray) -> int:
        """One token, from the logits of one position."""
        return self.choose_among(largest(logits, self.candidates))

    def choose_among(self, found: Candidates) -> int:
        """One of the likeliest tokens of a position: that which all logits would give.

        Raises:
            SamplingError: there are fewer tokens than the sampler chooses among.
        """
        likeliest = found.tokens[: self.candidates]
        if len(likeliest) < self.candidates and len(likeliest) < found.of:
            raise SamplingError(
                f"Chance is to decide among {self.candidates} tokens, and {len(likeliest)} are given.",
                help="build the accelerator with a top as large, or ask for fewer candidates.",
            )
        if len(likeliest) == 1:
            return int(likeliest[0])
        sums = self._sums(found)
        place = np.searchsorted(sums, self.random() * sums[-1], "right")
        return int(likeliest[min(int(place), len(sums) - 1)])

    def distribution(self, logits: np.ndarray) -> np.ndarray:
        """With which probability :meth:`choose` gives each token."""
        found = largest(logits, self.candidates)
        sums = self._sums(found)
        chances = np.zeros(len(logits))
        chances[found.tokens[: len(sums)]] = np.diff(sums, prepend=0.0) / sums[-1]
        return chances

    def random(self) -> float:
        """The next of the seed's numbers, from 0 to 1."""
        return self._rng.random()

    def _sums(self, found: Candidates) -> np.ndarray:
        """Weights of the tokens among which chance decides, added up."""
        scaled = found.logits[: self.candidates].astype(np.float64) / self.temperature
        sums = np.cumsum(np.exp(scaled - scaled[0]))
        return sums[: 1 + int(np.searchsorted(sums, self.share * sums[-1]))]
