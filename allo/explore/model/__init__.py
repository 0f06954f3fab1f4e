"""What the search knows of a kernel, and the tables of what can be chosen for each nest."""
