"""What becomes of one query: which jobs it makes, and what its answer is."""
