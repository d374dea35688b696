"""Batches between a router and a worker of the same node over a Unix socket, past Serve's handle."""
