"""Endpoints whose queries run through several stages."""
