"""How fast and how gently a running service adapts: its parts, and the arithmetic of what they measure."""
