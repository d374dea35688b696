"""Policies that look at the load alone."""
