"""How the harness talks to a cluster, and the client processes under test."""
