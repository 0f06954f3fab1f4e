"""Kinds of regions that are aimed at one thing each."""
