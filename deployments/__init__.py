"""Everything that runs on Ray Serve: the router's host, the workers, and how one replica is addressed."""
