#!/usr/bin/env bash
# Shows that two commands are enough on a machine that has only Rust and gcc.
#
# Makes a new Debian in a folder (debootstrap), copies the working tree and this machine's Rust into it, and in there runs
# `cargo xtask test`, cold and warm, and `cargo xtask run` on a screen of its own, each timed. Root only, Linux only.
#
# How this machine reaches its package servers (apt's sources, certificates, names) is carried over, so nothing of that is written here.
# Everything is mounted in a namespace of its own: whatever happens, no mount outlives this script.
#
#   tools/fresh-machine.sh [--folder DIR] [--suite NAME] [--until packages|test|run] [--no-tests] [--results DIR] [--keep]
set -euo pipefail

suite=bookworm folder='' until=run tests=yes results='' keep=no
usage() {
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0" | sed '$d' >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
        --folder) folder=${2:?}; shift ;;
        --suite) suite=${2:?}; shift ;;
        --until) until=${2:?}; shift ;;
        --results) results=${2:?}; shift ;;
        --no-tests) tests=no ;;
        --keep) keep=yes ;;
        *) usage ;;
    esac
    shift
done
case $until in packages | test | run) ;; *) usage ;; esac

cd "$(dirname "$0")/.."
. tools/new-system.sh
if [ "$(id -u)" != 0 ]; then
    echo "A new system can only be made by root: sudo $0" >&2
    exit 1
fi
for program in debootstrap unshare rustc git; do
    if ! command -v "$program" >/dev/null; then
        echo "$program is missing; install it, then start this again." >&2
        exit 1
    fi
done

if [ "${ATELIER_FRESH_INSIDE:-}" != yes ]; then
    folder=${folder:-$(mktemp -d)}
    mkdir -p "$folder"
    clean() {
        if [ "$keep" = no ]; then rm -rf --one-file-system "$folder" "$folder.times"; else echo "The new machine is kept in $folder"; fi
    }
    trap clean EXIT
    args=(--folder "$folder" --suite "$suite" --until "$until")
    if [ $tests = no ]; then args+=(--no-tests); fi
    if [ -n "$results" ]; then args+=(--results "$(mkdir -p "$results" && cd "$results" && pwd)"); fi
    ATELIER_FRESH_INSIDE=yes unshare --mount --pid --fork --kill-child --propagation private "$0" "${args[@]}"
    exit
fi

steps=()
# Seconds of processors that ended commands took, in `cpu`. Of this shell: one of its own for `times` would have begun anew.
cpu_seconds() {
    times >"$folder.times"
    cpu=$(tail -n 1 "$folder.times" | tr 'ms' '  ' | awk '{ printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }')
}
# step NAME COMMAND...: runs it and remembers how long it took.
step() {
    local name=$1 began=$SECONDS cpu before status=0
    cpu_seconds
    before=$cpu
    shift
    printf '\n==== %s\n' "$name"
    "$@" || status=$?
    cpu_seconds
    steps+=("$(printf '%-34s %5d s, %5d s of processors' "$name" $((SECONDS - began)) $((cpu - before)))$([ $status = 0 ] || echo "  failed ($status)")")
    if [ $status != 0 ]; then
        report
        exit $status
    fi
}
report() {
    printf '\nOn a fresh %s with %s:\n' "$suite" "$(rustc --version)"
    printf '  %s\n' "${steps[@]}"
    if [ -n "$results" ]; then printf '%s\n' "${steps[@]}" >"$results/times.txt"; fi
}

carry_rust_and_sources() {
    mkdir -p "$folder/opt/rust" "$folder/root/atelier"
    mount --bind "$(rustc --print sysroot)" "$folder/opt/rust"
    mount -o remount,bind,ro "$folder/opt/rust"
    git ls-files --cached --others --exclude-standard -z |
        while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
        tar --null --files-from=- --create | tar --extract --directory="$folder/root/atelier"
}

# inside COMMAND...: runs it in the new machine, in the repository, with an environment as new as the machine.
inside() {
    in_system HOME=/root PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin CARGO_HOME=/root/.cargo /usr/bin/env --chdir=/root/atelier "$@"
}

# With nobody to ask and no leave given, what is missing is named and nothing is installed.
refuses_without_leave() {
    local status=0
    inside cargo xtask setup </dev/null || status=$?
    [ $status = 1 ] && [ ! -e "$folder/usr/bin/cmake" ]
}

opens_a_window() {
    local frames="$folder/tmp/frames" window='' waited
    mkdir -p "$frames"
    inside env DISPLAY=:77 sh -c 'command -v Xvfb xdotool' >/dev/null || in_system /usr/bin/apt-get install --yes --quiet xvfb xdotool >/dev/null
    # The first build for `run` differs from the tests' own, so it may take minutes.
    # Groups of their own, so that all that they start can be ended.
    set -m
    inside Xvfb :77 -screen 0 1440x900x24 -nolisten tcp -fbdir /tmp/frames &
    local screen=$!
    inside env CI=true DISPLAY=:77 ATELIER_HOME=/tmp/atelier-home cargo xtask run &
    local program=$!
    set +m
    for ((waited = 0; waited < 2400; waited++)); do
        window=$(inside env DISPLAY=:77 xdotool search --onlyvisible --name . 2>/dev/null | head -1) || true
        if [ -n "$window" ] || ! kill -0 $program 2>/dev/null; then break; fi
        sleep 1
    done
    if [ -n "$window" ]; then
        echo "The window is there after $waited s."
        # One look after it has drawn itself.
        sleep 5
        if [ -n "$results" ]; then
            cp "$frames/Xvfb_screen0" "$results/window.xwd"
            ! command -v convert >/dev/null || convert "xwd:$results/window.xwd" "$results/window.png"
        fi
    fi
    kill -- -$program -$screen 2>/dev/null || true
    wait $program $screen 2>/dev/null || true
    [ -n "$window" ] && echo "The window opened (number $window)."
}

step "a new $suite with gcc" make_system gcc gcc,libc6-dev,ca-certificates
carry_network
carry_rust_and_sources
mount_system
step 'xtask names what is missing' refuses_without_leave
step 'xtask installs it' inside env CI=true cargo xtask setup
if [ "$until" != packages ] && [ $tests = yes ]; then
    step 'cargo xtask test, cold' inside env CI=true cargo xtask test
    step 'cargo xtask test, warm' inside env CI=true cargo xtask test
fi
if [ "$until" = run ]; then
    step 'cargo xtask run, until the window' opens_a_window
    step 'the same again' opens_a_window
fi
report
