"""Checks that end a run: of subscripts, and of dependences that a schedule asserts."""
