"""RocketMQ's releases: jars, Java, and what their files look like."""
