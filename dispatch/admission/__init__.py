"""Who is let in: what cannot be met is refused at arrival, by what workers can do at most and what waits already."""
