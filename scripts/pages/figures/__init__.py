"""Measured figures: one JSON file a family, and the pages that are made from them (``scripts/figures``)."""
