# What the lab does on another machine, over one connection of ssh each: POSIX sh, and /proc of Linux. Nothing is written there.
#
# T is the token of a connection or of a fault, f this text, both set by who sends it. Each line of an answer begins with T, and the
# last one is "T end". A fault leaves a guard: a detached process with the fault's token in its command line, which heals it when its
# time is over or SIGTERM comes, and ends. It stands before the fault begins.

LC_ALL=C PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export LC_ALL PATH
set -f
if command -v setsid >/dev/null 2>&1; then detach=setsid; else detach=nohup; fi

say() { printf '%s %s\n' "$T" "$*"; }
refuse() { say no "$*"; say end; exit 0; }
nap() { sleep 0.1 2>/dev/null || sleep 1; }
up() { read -r U _ </proc/uptime; U=${U%%.*}; }
boot() { cat /proc/sys/kernel/random/boot_id; }
owner() { awk '/^Uid:/ { print $3 }' "/proc/$1/status" 2>/dev/null; }
sum() { cksum <"/proc/$1/cmdline" 2>/dev/null; }

# Of a pid: state, threads, clock ticks of its start, and of what it has computed.
stat_of() {
    line=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    set -- ${line##*) }
    S=$1 C=$((${12} + ${13})) N=${18} B=${20}
}

# Whether the very process runs: a pid may be another one's by now.
same() {
    stat_of "$1" && [ "$B" = "$2" ] || return 1
    # A killed JVM keeps its ports until its last thread is gone.
    case $S in X | Z) [ "$N" -gt 1 ] ;; esac
}

same_node() { same "$1" "$2" && [ "$(owner "$1")" = "$(id -u)" ] && [ "$(sum "$1")" = "$3" ]; }

# Whether every thread of it stands still.
still() {
    set +f
    cat "/proc/$1"/task/*/stat 2>/dev/null | sed 's/.*) //' | awk '$1 !~ /^[TtXZ]/ { moves = 1 } END { exit moves || !NR }'
    is=$?
    set -f
    return $is
}

# Whether anybody listens at one of these: addresses and ports as /proc/net/tcp writes them, with commas between.
listens() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        awk -v all=",$1," '$4 == "0A" && index(all, "," $2 ",") { is = 1 } END { exit !is }'
}

# PID PIDFILE PORT OTHER: the process that is named and those below it, the sockets at PORT (in hex) that listen or lead to the port
# OTHER, and who has them.
facts() {
    pid=$1 port=$3 other=$4
    say me "$(id -u)"
    say boot "$(boot)"
    if [ -n "$2" ]; then
        [ -e "$2" ] || refuse absent
        [ -f "$2" ] || refuse nofile
        [ -r "$2" ] || refuse unreadable
        pid=$(dd if="$2" bs=100 count=1 2>/dev/null | tr '\000' ' ')
        set -- $pid
        pid=$1
    fi
    case $pid in '' | *[!0-9]* | 0* | 1 | ????????*) refuse nopid ;; esac
    stat_of "$pid" || refuse gone "$pid"
    family=$pid below=$pid depth=0
    while [ -n "$below" ] && [ $depth -lt 8 ]; do
        set +f
        next=
        for one in $below; do next="$next $(cat "/proc/$one"/task/*/children 2>/dev/null)"; done
        set -f
        set -- $next
        below=$*
        family="$family $below"
        depth=$((depth + 1))
    done
    for one in $family; do
        stat_of "$one" || continue
        say process "$one" "$B" "$S" "$C" "$(owner "$one")" "$(sum "$one")"
        say program "$one" "$(readlink "/proc/$one/exe" 2>/dev/null | od -An -v -tx1 | tr -d ' \n')"
        say words "$one" "$(od -An -v -tx1 <"/proc/$one/cmdline" 2>/dev/null | tr -d ' \n')"
    done
    inodes=
    for table in tcp tcp6; do
        found=$(awk -v at=":$port\$" -v to=":$other\$" '$2 ~ at && ($4 == "0A" || $3 ~ to) { print $2, $3, $4, $10 }' \
            "/proc/$pid/net/$table" 2>/dev/null)
        [ -n "$found" ] || continue
        printf '%s\n' "$found" | sed "s/^/$T tcp /"
        inodes="$inodes $(printf '%s\n' "$found" | awk '{ print $4 }' | tr '\n' ' ')"
    done
    set +f
    ls -l /proc/[0-9]*/fd 2>/dev/null | awk -v token="$T" -v inodes="$inodes" '
        BEGIN { count = split(inodes, each, " "); for (i = 1; i <= count; i++) wanted["socket:[" each[i] "]"] = each[i] }
        /^\/proc\// { split($1, path, "/"); pid = path[3] }
        $NF in wanted { print token, "holder", pid, wanted[$NF] }'
    set -f
}

# PID START: each thread.
look() {
    same "$1" "$2" || refuse gone "$1"
    say ticks "$C"
    set +f
    cat "/proc/$1"/task/*/stat 2>/dev/null | sed "s/^/$T thread /"
    set -f
}

# What ends a fault, in its guard: PID START SECONDS, and of a start PIDFILE-FOLDER LISTENERS WORD... .
go_on() { same "$1" "$2" && kill -CONT "$1"; }

start_again() {
    pid=$1 start=$2 folder=$4 at=$5
    shift 5
    # It lives where the kill never came.
    left=20
    while same "$pid" "$start"; do
        left=$((left - 1))
        [ $left -gt 0 ] || return
        nap
    done
    listens "$at" && return
    cd "$folder" || return
    $detach "$@" </dev/null >/dev/null 2>&1 &
    # Until it listens this guard stands, so that nobody starts it twice.
    up
    given_up=$((U + 60))
    until listens "$at" || [ "$U" -ge $given_up ]; do
        nap
        up
    done
}

# TOKEN WHAT PID START SECONDS ...: what a guard does. It says its own pid and start, and then nothing any more.
guard() {
    T=$1 what=$2 over=
    shift 2
    trap 'over=1' TERM HUP INT
    cd /
    stat_of $$
    printf '%s %s\n' $$ "$B"
    exec >/dev/null 2>&1
    up
    ends=$((U + $3))
    while [ -z "$over" ] && [ "$U" -lt $ends ]; do
        [ "$what" = start_again ] || same "$1" "$2" || exit 0
        nap
        up
    done
    $what "$@"
    exit 0
}

# A guard that stands: its pid and start. The substitution ends when the guard has closed its output.
arm() {
    set -- $($detach /bin/sh -c "$f
guard \"\$@\"" "mqlab-guard-$T" "$T" "$@" </dev/null 2>/dev/null &)
    G=$1 H=$2
    [ -n "$H" ] && same "$G" "$H"
}

# Guards of a fault, by its token. A command line may be somebody else's copy: only those of our own are meant.
guards() {
    set +f
    found=
    for path in $(grep -lsa "[m]qlab-guard-$T" /proc/[0-9]*/cmdline); do
        one=${path#/proc/}
        one=${one%/cmdline}
        [ "$(owner "$one")" = "$(id -u)" ] && [ "$one" != $$ ] && found="$found $one"
    done
    set -f
    printf '%s' "$found"
}

# SUM PID START SECONDS
stop() {
    sum=$1
    shift
    same_node "$1" "$2" "$sum" || refuse other "$1"
    case $S in T | t) refuse still "$1" ;; esac
    arm go_on "$@" || refuse unguarded
    same_node "$1" "$2" "$sum" && same "$G" "$H" && kill -STOP "$1" || {
        kill -KILL "$G"
        refuse other "$1"
    }
    stat_of "$1" && [ "$B" = "$2" ] || {
        kill -CONT "$1"
        refuse other "$1"
    }
    left=50
    until still "$1"; do
        left=$((left - 1))
        [ $left -gt 0 ] || {
            go_on "$@"
            kill -KILL "$G"
            refuse moves "$1"
        }
        nap
    done
}

# SUM PID START SECONDS PIDFILE-FOLDER LISTENERS WORD...
slay() {
    sum=$1
    shift
    same_node "$1" "$2" "$sum" || refuse other "$1"
    case $4 in /*) [ -d "$4" ] ;; *) false ;; esac || refuse nofolder
    command -v "$6" >/dev/null 2>&1 || (cd "$4" && [ -x "$6" ]) || refuse nocommand
    arm start_again "$@" || refuse unguarded
    same_node "$1" "$2" "$sum" && same "$G" "$H" && kill -KILL "$1" || {
        kill -KILL "$G"
        refuse other "$1"
    }
    left=100
    while same "$1" "$2"; do
        left=$((left - 1))
        [ $left -gt 0 ] || refuse stays "$1"
        nap
    done
}

# BOOT WHAT PID START SECONDS ...: as its guard does, now; without a guard by another one, whose time is over at once.
heal() {
    [ "$1" = "$(boot)" ] || {
        say healed boot
        return
    }
    what=$2
    shift 2
    [ "$what" = start_again ] || go_on "$@"
    there=$(guards)
    if [ -n "$there" ]; then
        kill -TERM $there 2>/dev/null
    elif [ "$what" = start_again ] && ! same "$1" "$2" && ! listens "$5"; then
        pid=$1 start=$2 folder=$4 at=$5
        shift 5
        arm start_again "$pid" "$start" 0 "$folder" "$at" "$@" || refuse unguarded
    fi
    [ "$what" = start_again ] || {
        left=30
        while [ -n "$(guards)" ] || { same "$1" "$2" && [ "$S" = T ]; }; do
            left=$((left - 1))
            [ $left -gt 0 ] || refuse moves "$1"
            nap
        done
    }
    say healed "${there:+guard}"
}
