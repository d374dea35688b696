"""Buckets of lengths against padding all texts to the maximum, and against no batches."""
