"""Which worker becomes what: ownership, rollout, and what the dispatcher serves."""
