"""Whether a running service keeps its promise on the machine at hand, under conditions that nobody profiled."""
