"""``accord run``: a service on this machine, from its start to its end."""
