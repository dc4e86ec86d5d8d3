#!/usr/bin/env bash
# A Docker daemon of our own, for a machine that has none running: tools/docker_daemon.sh start|stop|env [FOLDER]
#
# Everything of it (socket, images, containers) is in FOLDER, by default /var/tmp/mqlab-docker, and goes when it is
# stopped. It makes no bridge and no firewall rule: containers use the host's network. Needs root and the package
# docker.io; where there is no compose, `start` also puts the plugin of a newer Debian release into FOLDER/config.
#
#   eval "$(tools/docker_daemon.sh start)"     # sets DOCKER_HOST, and DOCKER_CONFIG where it fetched the plugin
set -euo pipefail

command=${1:-}
folder=$(realpath -m "${2:-/var/tmp/mqlab-docker}")
socket=$folder/docker.sock
pidfile=$folder/dockerd.pid
START_S_MAX=30
STOP_S_MAX=60
COMPOSE_SUITE=${COMPOSE_SUITE:-trixie}

say_env() {
  echo "export DOCKER_HOST=unix://$socket"
  [ ! -d "$folder/config" ] || echo "export DOCKER_CONFIG=$folder/config"
}

# Debian 12 has only the old docker-compose; the plugin of the release after it runs there, too. It comes by apt from
# where this machine's packages come from, and is unpacked, not installed.
fetch_compose() {
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 0
  local apt=$folder/apt plugins=$folder/config/cli-plugins uri
  uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | head -n 1)
  [ -n "$uri" ] || return 0
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$plugins"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $COMPOSE_SUITE main" >"$apt/sources.list"
  local options=(-qq -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o Acquire::Languages=none
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root)
  (
    cd "$apt"
    apt-get "${options[@]}" update && apt-get "${options[@]}" download "docker-compose/$COMPOSE_SUITE" &&
      dpkg -x docker-compose_*.deb package &&
      mv package/usr/libexec/docker/cli-plugins/docker-compose "$plugins/"
  ) >&2 || echo "no compose plugin could be had; the old docker-compose does as well" >&2
  rm -rf "$apt"
}

answers() { DOCKER_HOST=unix://$socket docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

start() {
  command -v dockerd >/dev/null || { echo "dockerd is not installed: apt-get install docker.io" >&2; exit 3; }
  if ! answers; then
    mkdir -p "$folder"
    rm -f "$pidfile"
    # overlay2 does not work on top of another overlay, which is what the root of a container is.
    driver=overlay2
    [ "$(stat -f -c %T "$folder")" != overlayfs ] || driver=vfs
    setsid dockerd --host "unix://$socket" --data-root "$folder/data" --exec-root "$folder/exec" \
      --pidfile "$pidfile" --bridge=none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
      --userland-proxy=false --storage-driver "$driver" \
      >"$folder/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq $((START_S_MAX * 10))); do
      answers && break
      kill -0 $! 2>/dev/null || break
      sleep 0.1
    done
    docker compose version >/dev/null 2>&1 || fetch_compose
    answers || { tail -n 5 "$folder/dockerd.log" >&2; exit 4; }
  fi
  say_env
}

stop() {
  [ -f "$pidfile" ] || { echo "no daemon in $folder" >&2; return; }
  pid=$(cat "$pidfile")
  kill "$pid" 2>/dev/null || true
  for _ in $(seq $((STOP_S_MAX * 10))); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  if kill -0 "$pid" 2>/dev/null; then
    echo "dockerd $pid did not stop" >&2
    exit 4
  fi
  # It leaves the name of the host's own network namespace, once a container has used that.
  find "$folder/exec/netns" -type f -exec umount {} \; 2>/dev/null || true
  # What it had mounted for its containers has gone with them; a mount that is left must not be deleted through.
  if grep -q " $folder/" /proc/self/mounts; then
    echo "still mounted below $folder, so it is kept:" >&2
    grep " $folder/" /proc/self/mounts >&2
    exit 4
  fi
  rm -rf "$folder"
}

case $command in
  start | stop) "$command" ;;
  env) say_env ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 3 ;;
esac
