"""How many workers a pool has: the autoscaling policy of Ray Serve, and what it reads."""
