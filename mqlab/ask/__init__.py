"""What is answered without a run of its own: of a cluster, a file, a line, a release."""
