"""Batches between a router and a worker over a socket of theirs, past Serve's handle."""
