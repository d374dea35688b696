"""Texts as data: labelled ones from files, and the tokens that models take."""
