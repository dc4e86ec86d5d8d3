"""RocketMQ's remoting protocol: frames, connections, and what is read and asked with them."""
