"""``fuse``: modules that follow each other as one function, and their nests as one."""
