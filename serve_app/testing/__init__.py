"""Start a service, drive it, watch its status: for benchmarks and chaos experiments."""
