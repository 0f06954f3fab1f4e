"""What differs in blocks where each token has steps of its own: norms, gates, and rescaling."""
