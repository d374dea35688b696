"""``accord init``: a project that runs at once."""
