"""Decision tables of a running service: made in the background, and put in force as they come."""
