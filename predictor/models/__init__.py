"""Predictors that learn from measurements."""
