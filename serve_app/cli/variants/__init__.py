"""Variants come to a running server and leave it."""
