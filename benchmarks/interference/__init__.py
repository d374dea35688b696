"""Interference: predictors of slowdown, placements by them, and what has to be measured."""
