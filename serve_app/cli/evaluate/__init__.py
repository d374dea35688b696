"""``accord evaluate``."""
