#!/usr/bin/env bash
# Starts a node as process 1 of its container: start.sh namesrv|broker [JVM OPTION]...
#
# Settings come from CONF_key=value variables with RocketMQ's own keys, or as a whole from the file NODE_CONF.
# By variable as well: JVM_HEAP, JVM_OPTIONS (a file, an option a line), GC_LOG (a file), CLASSES (in front of the
# release's jars), BIND (what 5.x listens on).
# It runs java itself: the release's own scripts have flags that newer Java refuses, and keep signals from it.
set -euo pipefail

kind=$1
shift
case $kind in
  namesrv)
    main=org.apache.rocketmq.namesrv.NamesrvStartup
    heap=${JVM_HEAP:--Dtls.server.mode=disabled -Xms64m -Xmx128m -XX:+UseSerialGC -Xss512k -XX:TieredStopAtLevel=1}
    ;;
  broker)
    main=org.apache.rocketmq.broker.BrokerStartup
    heap=${JVM_HEAP:--Dtls.server.mode=disabled -Xms256m -Xmx512m -Xmn128m -XX:+UseSerialGC -Xss512k -XX:MaxDirectMemorySize=512m}
    ;;
  *)
    echo "start.sh namesrv|broker, not $kind" >&2
    exit 2
    ;;
esac
release=${ROCKETMQ_HOME:?the image has no ROCKETMQ_HOME}
. /node/java.sh

# A setting that the user gave wins: of two lines with one key the last is read.
write_conf() {
  [[ $release == *rocketmq-4.* ]] || echo "bindAddress=${BIND:-127.0.0.1}"
  if [ "$kind" = broker ]; then
    echo brokerClusterName=mqlab
    echo brokerIP1=127.0.0.1
    echo brokerIP2=127.0.0.1
    echo "haListenPort=$((CONF_listenPort + 1))"
    echo storePathRootDir=/data/store
    echo storePathCommitLog=/data/store/commitlog
    echo mappedFileSizeCommitLog=67108864
    echo diskMaxUsedSpaceRatio=95
  fi
  for variable in "${!CONF_@}"; do echo "${variable#CONF_}=${!variable}"; done
}

conf=${NODE_CONF:-/tmp/$kind.conf}
[ -n "${NODE_CONF:-}" ] || write_conf >"$conf"

gc_log=()
if [ -n "${GC_LOG:-}" ]; then
  gc_log=("-Xlog:gc*,safepoint,handshake:file=$GC_LOG:utctime,uptime,level,tags:filecount=2,filesize=8M")
  [ -z "$java_8" ] || gc_log=("-Xloggc:$GC_LOG" -XX:+PrintGCDateStamps -XX:+PrintGCApplicationStoppedTime)
fi

further=()
if [ -n "${JVM_OPTIONS:-}" ]; then
  mapfile -t further <"$JVM_OPTIONS"
elif [ "${BIND:-127.0.0.1}" = 127.0.0.1 ] && [ -e /opt/mqlab/guard.jar ]; then
  # Where loopback is asked for, 4.x keeps to it as well: the lab's own images have what sees to that.
  further=(-javaagent:/opt/mqlab/guard.jar=/opt/mqlab/guard.properties -Dio.netty.transport.noNative=true)
fi

# shellcheck disable=SC2086 # the heap's options are words
exec "$java" "${modules[@]}" $heap -Drocketmq.home.dir="$release" -Duser.home=/data "${gc_log[@]}" "$@" "${further[@]}" \
  -cp "${CLASSES:+$CLASSES:}$release/conf:$release/lib/*" "$main" -c "$conf"
