"""Workers, how one of them is called, and how variants are measured on one."""
