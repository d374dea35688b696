"""``accord status``."""
