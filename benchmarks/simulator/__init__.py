"""How many queries a second the simulator plays, with decision tables, on one core."""
