"""Faults of the compiler as data: what a shorter selection of tests still detects.

``mutants.toml`` holds small changes of the product, each with the folders of tests nearest to it.
``python -m tests.mutants`` applies one after the other in a copy of the repository, runs these folders
until a test fails, and prints a table. ``python -m tests.mutants --nightly`` runs all their tests.
"""
