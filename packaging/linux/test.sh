#!/usr/bin/env bash
# Installs the packages on a Debian that has no Rust and no window yet, uses them, and takes them away again. Root only.
#
#   packaging/linux/test.sh [--deb FILE] [--tar FILE] [--appimage FILE] [--rpm FILE] [--suite NAME] [--results DIR]
#
# For each: install, paint with the built-in model as somebody who is not root, check the picture, open the window under Xvfb, check that it
# shows something, remove, check that only the person's own files stay. The new system is kept between runs in ATELIER_PACKAGE_TEST
# (~/.cache/atelier-package-test); each package gets a fresh layer over it. Everything is mounted in a namespace of its own.
set -euo pipefail

suite=bookworm results='' deb='' tar='' appimage='' rpm=''
usage() {
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0" | sed '$d' >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
        --deb) deb=$(realpath "${2:?}") ;;
        --tar) tar=$(realpath "${2:?}") ;;
        --appimage) appimage=$(realpath "${2:?}") ;;
        --rpm) rpm=$(realpath "${2:?}") ;;
        --suite) suite=${2:?} ;;
        --results) results=$(mkdir -p "${2:?}" && realpath "$2") ;;
        *) usage ;;
    esac
    shift 2
done
[ -n "$deb$tar$appimage$rpm" ] || usage
cd "$(dirname "$0")/../.."
. tools/new-system.sh

if [ "$(id -u)" != 0 ]; then
    echo "A new system can only be made by root: sudo $0" >&2
    exit 1
fi
cache=${ATELIER_PACKAGE_TEST:-${XDG_CACHE_HOME:-$HOME/.cache}/atelier-package-test}
if [ "${ATELIER_TEST_INSIDE:-}" != yes ]; then
    results=${results:-$(mktemp -d)}
    arguments=(--suite "$suite" --results "$results")
    for format in deb tar appimage rpm; do [ -z "${!format}" ] || arguments+=("--$format" "${!format}"); done
    status=0
    ATELIER_TEST_INSIDE=yes unshare --mount --pid --fork --kill-child --propagation private "$PWD/packaging/linux/test.sh" "${arguments[@]}" || status=$?
    # Layers hold files of other users; nothing is mounted here any more.
    rm -rf --one-file-system "$cache/layers"
    exit $status
fi

rows=()
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
seconds_since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }'; }
now() { date +%s.%N; }

# layer NAME LOWER...: `folder` becomes a new system that consists of these layers and an empty one on top.
layer() {
    local name=$1 lower=$2
    folder=$cache/layers/$name/root
    mkdir -p "$folder" "$cache/layers/$name/up" "$cache/layers/$name/work"
    mount -t overlay overlay -o "lowerdir=$lower,upperdir=$cache/layers/$name/up,workdir=$cache/layers/$name/work" "$folder"
    prepare
}
prepare() {
    mount_system
    mkdir -p "$folder/tmp/.X11-unix" "$cache/archives/partial"
    chmod 1777 "$folder/tmp/.X11-unix"
    mount --bind /tmp/.X11-unix "$folder/tmp/.X11-unix"
    # What apt has fetched once; a package's files are the same each time.
    mount --bind "$cache/archives" "$folder/var/cache/apt/archives"
}
apt() {
    in_system DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Keep-Downloaded-Packages=true "$@" >>"$results/apt.log" 2>&1 || {
        tail -20 "$results/apt.log" >&2
        fail "apt-get $1"
    }
}
# person COMMAND...: as somebody with a home folder and no rights.
person() {
    in_system HOME=/home/person USER=person PATH=/usr/bin:/bin /usr/bin/env --chdir=/home/person \
        setpriv --reuid=person --regid=person --init-groups "$@"
}

# The window's libraries, as the .deb names them or, without one, from the table that it is made from.
window_packages() {
    if [ -n "$deb" ]; then
        dpkg-deb --field "$deb" Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//; s/ //g'
    else
        echo libstdc++6 libx11-6 libx11-xcb1 libxcursor1 libxi6 libxkbcommon0 libxkbcommon-x11-0 libegl1 libgl1 libgl1-mesa-dri
    fi
}

make_systems() {
    folder=$cache/$suite
    mkdir -p "$folder" "$cache/archives"
    make_system setpriv ca-certificates
    carry_network
    if [ ! -d "$folder/home/person" ]; then in_system useradd --create-home person; fi
    # A Debian with what windows need, as people who unpack an archive have.
    desktop=$cache/$suite-desktop
    local wanted
    wanted=$(window_packages | sort | xargs)
    if [ "$(cat "$desktop/packages" 2>/dev/null)" != "$wanted" ]; then
        rm -rf --one-file-system "$desktop" "$cache/layers/desktop"
        (
            layer desktop "$cache/$suite"
            apt update
            # shellcheck disable=SC2086
            apt install --yes --no-install-recommends $wanted
        )
        mkdir -p "$desktop"
        umount --recursive --lazy "$cache/layers/desktop/root"
        mv "$cache/layers/desktop/up" "$desktop/up"
        echo "$wanted" >"$desktop/packages"
    fi
    ! [ -e "$folder/usr/bin/rustc" ] && ! [ -e "$folder/usr/bin/cargo" ] || fail "$folder has Rust"
}

# paint PROGRAM: makes a picture and checks it.
paint() {
    local picture=$folder/home/person/picture.png
    person "$@" generate --prompt 'a red sunset over snowy mountains, a lake' --seed 7 --output /home/person/picture.png
    local found
    found=$(identify -format '%m %w %h %k' "$picture")
    read -r kind width height colours <<<"$found"
    if [ "$kind" != PNG ] || [ "$width" -lt 256 ] || [ "$height" -lt 256 ] || [ "$colours" -lt 1000 ]; then
        fail "the picture is not one: $found"
    fi
    cp "$picture" "$results/$format-picture.png"
}

# window PROGRAM: opens it, waits until it shows at least so many colours, and sets `first_frame` to the seconds from the start of the process.
window() {
    local screen=$folder/tmp/screen number log=$results/$format-window.log
    rm -rf "$screen"
    mkdir "$screen"
    Xvfb -displayfd 3 -screen 0 1440x900x24 -nolisten tcp -ac -fbdir "$screen" 3>"$screen/number" 2>/dev/null &
    local server=$!
    until [ -s "$screen/number" ]; do kill -0 $server || fail 'Xvfb did not start'; done
    number=$(cat "$screen/number")
    cp "$screen/Xvfb_screen0" "$screen/blank"
    local began
    began=$(now)
    person env DISPLAY=":$number" "$@" >"$log" 2>&1 &
    local program=$! deadline=$((SECONDS + 60))
    while cmp -s "$screen/Xvfb_screen0" "$screen/blank"; do
        kill -0 $program 2>/dev/null || { cat "$log" >&2; fail 'the program ended before its window was there'; }
        [ $SECONDS -lt $deadline ] || fail 'no window within a minute'
    done
    first_frame=$(seconds_since "$began")
    # It may still be drawing.
    until import -display ":$number" -window root "$results/$format-window.png" && [ "$(identify -format %k "$results/$format-window.png")" -gt "$least_colours" ]; do
        [ $SECONDS -lt $deadline ] || fail 'the window stayed blank'
    done
    [ -n "$(DISPLAY=:$number xdotool search --onlyvisible --name '^Atelier$')" ] || fail 'there is no window called Atelier'
    # By the X server's end, as when a person logs out; nothing is asked.
    kill $server
    wait $server $program 2>/dev/null || true
}

traces() { (cd "$folder" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./home -o -path ./var/cache \) -prune -o -iname '*atelier*' -print); }

# only_own_files: what the person made is there, and nothing of the package.
only_own_files() {
    [ -s "$folder/home/person/picture.png" ] || fail 'the picture went with the program'
    local left
    left=$(traces)
    [ -z "$left" ] || fail "left behind: $left"
    (cd "$folder/home/person" && find . -type f | sort) >"$results/$format-left.txt"
}
row() {
    local size
    size=$(stat --format %s "${!format}")
    rows+=("$(printf '%-9s %7.1f MiB %9.1f s %9.1f s %9.2f s %9.2f s' "$format" "$(awk -v s="$size" 'BEGIN { print s / 1048576 }')" "$installed" "$painted" "$first_frame" "$second_frame")")
}

test_deb() {
    layer deb "$cache/$suite"
    apt update
    cp "$deb" "$folder/tmp/atelier.deb"
    local began
    began=$(now)
    apt install --yes --no-install-recommends /tmp/atelier.deb
    installed=$(seconds_since "$began")
    paint atelier
    painted=$(seconds_since "$began")
    windows atelier
    in_system dpkg --verify atelier
    validate "$folder/usr/share"
    apt purge --yes --autoremove atelier
    only_own_files
}

# The first start makes caches of fonts and shaders; the second is what a person sees every day, and is given a picture, as by "Open with".
windows() {
    least_colours=100 window "$@"
    local first=$first_frame
    least_colours=5000 window "$@" /home/person/picture.png
    second_frame=$first_frame first_frame=$first
}

validate() {
    if command -v desktop-file-validate >/dev/null; then desktop-file-validate "$1/applications/atelier.desktop"; fi
    # Its one warning is that the id names no domain: the project has none.
    if command -v appstreamcli >/dev/null; then
        ! appstreamcli validate --no-net --no-color "$1/metainfo/atelier.metainfo.xml" | grep '^E:' || fail 'the metainfo has errors'
    fi
}

test_tar() {
    layer tar "$desktop/up:$cache/$suite"
    cp "$tar" "$folder/home/person/atelier.tar.xz"
    xz_in "$folder"
    local began
    began=$(now)
    person tar --extract --xz --file atelier.tar.xz
    person sh -c './atelier-*/install.sh'
    installed=$(seconds_since "$began")
    rm -rf "$folder"/home/person/atelier-* "$folder/home/person/atelier.tar.xz"
    paint .local/bin/atelier
    painted=$(seconds_since "$began")
    # By the entry of the menu, as the desktop starts it.
    local exec
    exec=$(sed -n 's/^Exec=//p' "$folder/home/person/.local/share/applications/atelier.desktop")
    windows sh -c "exec ${exec% %F} \"\$@\"" atelier
    validate "$folder/home/person/.local/share"
    person .local/opt/atelier/install.sh --uninstall
    only_own_files
    ! grep -E 'opt/atelier|bin/atelier|applications|icons|mime|metainfo' "$results/tar-left.txt" || fail 'the script left files behind'
}
# Minimal systems have no xz, which every desktop has.
xz_in() { [ -x "$1/usr/bin/xz" ] || apt install --yes --no-install-recommends xz-utils; }

test_appimage() {
    layer appimage "$desktop/up:$cache/$suite"
    local began
    began=$(now)
    cp "$appimage" "$folder/home/person/Atelier.AppImage"
    chmod 755 "$folder/home/person/Atelier.AppImage"
    installed=$(seconds_since "$began")
    paint ./Atelier.AppImage
    painted=$(seconds_since "$began")
    windows ./Atelier.AppImage
    rm "$folder/home/person/Atelier.AppImage"
    # Where it was unpacked: nobody takes that away but the person, or the next version.
    rm -r "$folder/home/person/.cache/atelier-appimage"
    only_own_files
}

test_rpm() {
    layer rpm "$desktop/up:$cache/$suite"
    # Its own database, since a Debian has none; what it requires is looked at, not installed.
    rpm --query --package --requires "$rpm" >"$results/rpm-requires.txt"
    local began
    began=$(now)
    rpm --root "$folder" --install --nodeps "$rpm"
    installed=$(seconds_since "$began")
    paint atelier
    painted=$(seconds_since "$began")
    windows atelier
    validate "$folder/usr/share"
    rpm --root "$folder" --erase --nodeps atelier
    only_own_files
}

make_systems
for format in deb tar appimage rpm; do
    [ -n "${!format}" ] || continue
    printf '\n==== %s\n' "$format"
    (
        rows=()
        "test_$format"
        row
        printf '%s\n' "${rows[@]}" >"$results/$format-row.txt"
    )
done
{
    printf '%-9s %11s %11s %11s %11s %11s\n' 'format' 'file' 'installed' 'picture' 'first start' 'next start'
    cat "$results"/*-row.txt
} | tee "$results/table.txt"
echo "installed and picture: seconds from the beginning of the installation, with what apt fetches; starts: to the window's first frame."
