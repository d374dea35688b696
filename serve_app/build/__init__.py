"""From a config to the bound Serve application."""
