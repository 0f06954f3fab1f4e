"""Where index and integer values lie: interval arithmetic, and exact answers of islpy over loops."""
