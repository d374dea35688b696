"""Probes of Chaos Toolkit: what a service under test says, and what its clients see."""
