"""Passes over the core IR that every target shares: bulk operations, unrolling, scalar functions."""
