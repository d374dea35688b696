"""Classes of the user's as variants (`catalog.user_code`): imported in workers, and nowhere else of a service."""
