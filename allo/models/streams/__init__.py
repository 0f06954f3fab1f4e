"""Graphs of models as networks of streaming layers."""
