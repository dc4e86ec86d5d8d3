#!/usr/bin/env bash
# A picture of a report, for the README: tools/picture.sh REPORT.html PICTURE.png (needs Chromium).
set -euo pipefail
page=$(realpath "$1")
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$profile" --window-size=1280,1100 \
  --virtual-time-budget=8000 --screenshot="$2" "file://$page" 2>/dev/null
echo "$2 shows $page"
