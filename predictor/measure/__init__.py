"""Measures what variants do to each other's latency when they run on one machine at the same time."""
