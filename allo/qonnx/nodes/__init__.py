"""What the nodes of a file become that are not functions of one element: a family a file."""
