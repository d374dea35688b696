"""The forecasters."""
