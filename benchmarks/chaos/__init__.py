"""Every chaos experiment for real, and whether what is promised is kept."""
