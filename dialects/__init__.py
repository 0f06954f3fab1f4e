"""The foundation: types, diagnostics, the core IR and what every target shares.

Nothing here imports another layer of Allo (see ``docs/internals/architecture.md``).
"""
