"""Runtimes: how a variant's artifact is loaded and run, one module per library, none of them knowing Ray."""
