"""From observations to verdicts."""
