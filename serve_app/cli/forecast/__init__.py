"""``accord forecast``."""
