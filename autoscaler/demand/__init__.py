"""The load that a plan is made for."""
