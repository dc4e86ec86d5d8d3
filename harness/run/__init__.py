"""A plan is carried out: deployments, trials and their phases, and what the user sees meanwhile."""
