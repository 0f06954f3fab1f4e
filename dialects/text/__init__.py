"""Text of users' in messages and in other languages."""
