"""Batches between a router and a worker of the same machine over a Unix socket, past Serve's handle."""
