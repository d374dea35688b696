"""Planners, and the seam that they share."""
