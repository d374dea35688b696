"""The config under ``args``: its schema, section by section, and what may change while the application runs."""
