"""How long decision tables take to make: the cases of the RAMSIS paper's table 2, and our own formulation."""
