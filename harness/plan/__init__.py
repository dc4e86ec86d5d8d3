"""From what was asked to the order in which deployments start, and what that will cost."""
