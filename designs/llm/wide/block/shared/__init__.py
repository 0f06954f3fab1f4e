"""Attention whose queries share a key: those of neighbouring tokens of a sequence, and of a group."""
