"""Cost and latency of ensembles against single models and larger ensembles, as Cocktail (section 6) has them."""
