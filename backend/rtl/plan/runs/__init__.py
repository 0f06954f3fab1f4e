"""Runs of regions one after the other: what of the one before is left when the next begins."""
