"""When a batch of so many rows can still be in time."""

ROUNDING_S = 1e-8
"""A batch must be done this much before its first deadline: more than rounding adds on any host's clock."""
