"""Data mining."""
