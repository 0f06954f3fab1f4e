"""Pictures of the documentation, each drawn from a design that is built when the picture is made."""
