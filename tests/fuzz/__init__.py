"""Random programs of the whole language, compared on every target. See docs/reliability.md."""
