"""``accord interference`` has several subcommands."""
