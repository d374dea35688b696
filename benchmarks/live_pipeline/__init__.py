"""A live pipeline under a load that doubles and falls, and the death of a worker."""
