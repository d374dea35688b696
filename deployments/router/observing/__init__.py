"""What a router observes of its queries, its endpoints and its event loop, and how it reports that."""
