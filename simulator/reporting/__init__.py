"""What came out of simulations, in words and pictures."""
