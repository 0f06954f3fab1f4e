"""Values while a function is read: nodes, and index values kept linear."""
