"""Comparing and compressing sequences of symbols."""
