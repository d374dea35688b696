"""The decision process of the paper: reward per decision (RAMSIS, section 4)."""
