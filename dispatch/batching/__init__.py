"""Choice of the batch alone: when the variant of a worker is settled, how many rows run next, and when."""
