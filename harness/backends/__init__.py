"""Where a cluster runs."""
