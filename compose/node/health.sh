#!/usr/bin/env bash
# Healthy: a name server that accepts connections; a broker that every one of its name servers lists.
#
# The question to a name server is RocketMQ's own, in its remoting protocol: four bytes length, four bytes length of the
# header, the header as JSON. Code 106 asks for the cluster's brokers, and the answer names their addresses.
set -euo pipefail
address=127.0.0.1:$CONF_listenPort
question='{"code":106,"flag":0,"language":"JAVA","opaque":1,"version":0,"extFields":{}}'
PART_S_MAX=0.3

number() { printf '%b' "$(printf '\\x%02x' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)))"; }

lists_me() {
  local server=$1 part answer=
  exec {socket}<>"/dev/tcp/${server%:*}/${server##*:}" || return 1
  { number $((${#question} + 4)); number ${#question}; printf %s "$question"; } >&"$socket"
  # What is read ends at a zero byte, of which the lengths have some, or when nothing more comes.
  while IFS= read -r -d '' -t $PART_S_MAX -u "$socket" part || [ -n "$part" ]; do
    answer+=$part
    if [[ $answer == *"\"$address\""* ]]; then
      exec {socket}>&-
      return 0
    fi
  done
  exec {socket}>&-
  return 1
}

exec {own}<>"/dev/tcp/127.0.0.1/$CONF_listenPort"
exec {own}>&-
IFS=';' read -r -a servers <<<"${CONF_namesrvAddr:-}"
for server in "${servers[@]}"; do lists_me "$server"; done
