"""What clients say was true, and what routers learn from it."""
