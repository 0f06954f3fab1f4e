"""Arrays that lie on several channels: one port for each, and the code that deals their lines out."""
