"""Systems that share a fixed, heterogeneous cluster between endpoints, compared on one trace."""
