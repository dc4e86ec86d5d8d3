"""``mqlab diagnose``: what logs show, and an incident made of it."""
