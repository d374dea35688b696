"""What an endpoint promises: whether it is kept, and what follows where it is not."""
