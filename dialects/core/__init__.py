"""Access to the core IR: places, effects, partitions, constants."""
