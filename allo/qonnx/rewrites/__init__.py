"""Changes to a file before it is read: other words, and cells of recurrent networks spelled out."""
