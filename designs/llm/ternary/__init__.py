"""Ternary weights: how they are found and packed, and the element that adds activations by them."""
