"""Makes things happen on a RocketMQ cluster and writes a run directory. Never imports Spark."""
