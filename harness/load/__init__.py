"""What the clients of a trial do, and how each load is brought up, checked and drained."""
