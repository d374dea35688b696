"""Which variants there are, who may bring new ones, and how they come and go."""
