"""How much load an endpoint has to expect."""
