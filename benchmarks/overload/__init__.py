"""How a service stands more than it can carry."""
