"""Queries of any length: which of them share a batch, and what a batch of one length costs."""
