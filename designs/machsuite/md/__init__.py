"""Molecular dynamics."""
