"""Lanes of a model: what repeats at other places of the state becomes one loop."""
