"""``accord plan``."""
