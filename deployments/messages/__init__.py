"""What router, controller and workers say to each other."""
