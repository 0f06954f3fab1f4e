"""Expansions of scalar functions into arithmetic, one file for a family of functions."""
