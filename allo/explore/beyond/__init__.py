"""Designs beside those of the model, for what it does not cover."""
