"""Which model files may be had, from where, and how they are fetched."""
