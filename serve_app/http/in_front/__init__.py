"""What a router and the proxy in front of it tell each other, in headers."""
