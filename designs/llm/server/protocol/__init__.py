"""OpenAI's protocol over HTTP: what is asked, what is told, and the paths."""
