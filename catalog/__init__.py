"""What can be served: variants, their accuracy and latency, where their files are, and the built-in zoo."""
