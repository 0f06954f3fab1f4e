"""From the typed tree to core IR."""
