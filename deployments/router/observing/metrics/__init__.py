"""What a router observes, as metrics for Prometheus."""
