"""``accord votes``."""
