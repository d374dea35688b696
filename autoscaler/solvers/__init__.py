"""Planners that solve for the plan."""
