"""What outlives the controller, and what it keeps of the past."""
