"""Which requests a stall refuses: the model, checked against every cell that is run, and what it predicts."""
