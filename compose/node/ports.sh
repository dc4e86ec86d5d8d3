#!/usr/bin/env bash
# Does nothing until it is stopped: its container owns the ports that the others serve.
trap 'exit 0' TERM INT
exec {nothing}<> <(:)
while :; do read -r -t 3600 -u "$nothing" || true; done
