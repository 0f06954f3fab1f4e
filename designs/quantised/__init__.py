"""Quantised networks that the repository makes and trains itself."""
