"""The same cluster in containers: engine, image, compose, and clients."""
