"""Votes of models of which only the accuracy by class is known."""
