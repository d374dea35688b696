"""What people touch: the config schema, the app builder for ``serve run``, the HTTP edge and the command line."""
