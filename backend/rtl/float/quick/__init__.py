"""Sums on which a loop waits: in fewer cycles than the usual ones."""
