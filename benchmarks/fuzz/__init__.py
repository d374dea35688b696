"""A hundred thousand bad inputs against a running service."""
