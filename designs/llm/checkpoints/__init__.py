"""Models of other people: Hugging Face's folders, read, quantised, and computed in integers."""
