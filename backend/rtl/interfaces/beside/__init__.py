"""Arrays whose elements pass by bursts while the core runs: walks, and what turns lines into words."""
