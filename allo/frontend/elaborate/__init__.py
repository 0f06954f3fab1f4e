"""From Python syntax to the typed tree: templates, compile-time constructs and types decided."""
