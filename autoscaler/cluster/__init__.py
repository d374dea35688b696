"""What is planned for and what is decided: endpoints, pools, observations, plans."""
