"""How long services take to start."""
