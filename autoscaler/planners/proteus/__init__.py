"""Proteus: the plan as an integer program (section 4)."""
