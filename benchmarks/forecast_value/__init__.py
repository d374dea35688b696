"""What forecasts are worth when the simulator plans on them."""
