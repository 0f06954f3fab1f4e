"""How the weights of a model are stored."""
