"""The search for the schedule of one loop, and for the least initiation interval of its body."""
