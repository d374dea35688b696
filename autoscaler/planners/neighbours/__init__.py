"""Any planner, with plans that reckon with what workers of one node do to each other."""
