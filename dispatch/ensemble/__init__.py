"""Ensembles: which members answer a query, and what their votes come to (Cocktail, NSDI 2022)."""
