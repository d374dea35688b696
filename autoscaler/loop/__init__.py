"""When to plan, and how many workers to ask for."""
