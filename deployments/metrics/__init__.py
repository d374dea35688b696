"""What Accord says of itself as metrics of Ray, which exports them to Prometheus with the prefix ``ray_``."""
