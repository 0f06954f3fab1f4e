"""Filters, transforms and angles."""
