"""Accord beside what a user would write: two models, and the small one while many queries wait."""
