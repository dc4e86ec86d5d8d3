"""The command line, which alone knows harness, scenarios and analysis."""
