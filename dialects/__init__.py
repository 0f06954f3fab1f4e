"""The ground floor: types, diagnostics, the core IR and what every target shares.

Nothing here imports another floor of Allo (see ``docs/architecture.md``).
"""
