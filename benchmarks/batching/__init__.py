"""Violations of three batching policies under even, Poisson and bursty arrivals at equal load."""
