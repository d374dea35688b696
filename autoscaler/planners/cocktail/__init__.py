"""Workers for the members of ensembles, as many as each is asked and from where they cost least (Cocktail, 4.2)."""
