"""What `controller` of the config says of planning."""
