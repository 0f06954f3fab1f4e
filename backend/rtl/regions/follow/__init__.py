"""Processes followed: what decides in them computed by Python, and their traces written."""
