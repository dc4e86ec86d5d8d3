"""Python's own clients of RocketMQ, each in a child process with a folder of packages of its own."""
