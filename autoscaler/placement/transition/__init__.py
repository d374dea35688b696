"""From the plan that is in force to the next: which worker loads and unloads what, and when."""
