"""Topics, routes and name servers."""
