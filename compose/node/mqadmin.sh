#!/usr/bin/env bash
# RocketMQ's own tool: docker compose -f compose/single.yaml exec broker-a bash /node/mqadmin.sh clusterList
set -euo pipefail
. /node/java.sh
exec "$java" "${modules[@]}" -Xmx128m -XX:TieredStopAtLevel=1 -Duser.home=/tmp \
  -Drocketmq.home.dir="$ROCKETMQ_HOME" -Drocketmq.namesrv.addr="${CONF_namesrvAddr:-127.0.0.1:$CONF_listenPort}" \
  -cp "$ROCKETMQ_HOME/conf:$ROCKETMQ_HOME/lib/*" org.apache.rocketmq.tools.command.MQAdminStartup "$@"
