"""``endpoints`` of the config, and the sections below one."""
