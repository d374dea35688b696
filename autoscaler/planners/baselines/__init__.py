"""Planners of other systems, as Proteus describes them (section 6.1.1)."""
