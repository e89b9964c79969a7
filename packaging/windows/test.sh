#!/usr/bin/env bash
# Installs the Windows packages under wine, uses them as a person would, and takes them away again. Root only.
#
#   packaging/windows/test.sh [--windows FILE] [--msi FILE] [--results DIR]
#
# The person's name, and so the name of the home folder, is German and Chinese. Setup: silent, paint in a console, errors and exit codes there,
# long paths, open the window, paint by pressing the button, install over the open program, refuse where a console uses it, uninstall, check that
# only the person's own files stay. The .msi: install, paint, remove. wine 10 comes from a Debian in ATELIER_PACKAGE_TEST
# (~/.cache/atelier-package-test), where it is kept. Everything is mounted in a namespace of its own.
set -euo pipefail

results='' windows='' msi=''
usage() {
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0" | sed '$d' >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
        --windows) windows=$(realpath "${2:?}") ;;
        --msi) msi=$(realpath "${2:?}") ;;
        --results) results=$(mkdir -p "${2:?}" && realpath "$2") ;;
        *) usage ;;
    esac
    shift 2
done
[ -n "$windows$msi" ] || usage
cd "$(dirname "$0")/../.."
. tools/new-system.sh

if [ "$(id -u)" != 0 ]; then
    echo "A new system can only be made by root: sudo $0" >&2
    exit 1
fi
if [ "${ATELIER_TEST_INSIDE:-}" != yes ]; then
    results=${results:-$(mktemp -d)}
    arguments=(--results "$results")
    for format in windows msi; do [ -z "${!format}" ] || arguments+=("--$format" "${!format}"); done
    ATELIER_TEST_INSIDE=yes exec unshare --mount --pid --fork --kill-child --propagation private "$PWD/packaging/windows/test.sh" "${arguments[@]}"
fi

suite=trixie
folder=${ATELIER_PACKAGE_TEST:-${XDG_CACHE_HOME:-$HOME/.cache}/atelier-package-test}/$suite-wine
name=Jürgen狐狸
home=$folder/home/person
drive=$home/prefix/drive_c
user=$drive/users/$name
installed_folder=$user/AppData/Local/Programs/Atelier
pictures=$user/Pictures/Atelier

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
now() { date +%s.%N; }
seconds_since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }'; }
say() { printf '  %s\n' "$*"; }

mkdir -p "$folder"
make_system wine wine,wine64,libgl1,libgl1-mesa-dri,libglx-mesa0,fonts-dejavu-core
mount_system
mkdir -p "$folder/tmp/.X11-unix" && chmod 1777 "$folder/tmp/.X11-unix"
mount --bind /tmp/.X11-unix "$folder/tmp/.X11-unix"
grep -q "^$name:" "$folder/etc/passwd" || echo "$name:x:1234:1234::/home/person:/bin/sh" >>"$folder/etc/passwd"
grep -q '^person:' "$folder/etc/group" || echo 'person:x:1234:' >>"$folder/etc/group"
rm -rf "$home"
mkdir -p "$home"
chown 1234:1234 "$home"

# person COMMAND...: as the person, on the screen that was opened.
person() {
    in_system HOME=/home/person WINEPREFIX=/home/person/prefix WINEDEBUG=-all DISPLAY="${display:-}" LIBGL_ALWAYS_SOFTWARE=1 \
        /usr/bin/env --chdir=/home/person setpriv --reuid=1234 --regid=1234 --clear-groups "$@"
}
# code COMMAND...: prints its exit code.
# Its output goes to two files.
code() {
    local status=0
    "$@" >"$results/output.txt" 2>"$results/error.txt" || status=$?
    echo $status
}
screen() {
    local number
    Xvfb -displayfd 3 -screen 0 1440x900x24 -nolisten tcp -ac 3>"$results/display" 2>/dev/null &
    server=$!
    until [ -s "$results/display" ]; do kill -0 $server || fail 'Xvfb did not start'; done
    number=$(cat "$results/display")
    rm "$results/display"
    display=:$number
}
# photograph FILE: the screen.
photograph() { import -display "$display" -window root "$results/$1"; }
# await SECONDS WHAT COMMAND...: until it succeeds.
await() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ $SECONDS -lt $deadline ] || fail "$what"
        sleep 0.2
    done
}
find_window() { DISPLAY=$display xdotool search --onlyvisible --name '^Atelier$' >"$results/window" 2>/dev/null; }
no_window() { ! find_window; }
has_drawn() { photograph window.png && [ "$(identify -format %k "$results/window.png")" -gt 100 ]; }
stands_still() { photograph before.png && sleep 1 && photograph after.png && cmp -s "$results/before.png" "$results/after.png"; }
has_picture() { compgen -G "$pictures/*.png" >/dev/null || compgen -G "$pictures/*/*.png" >/dev/null; }
# check_picture FILE
check_picture() {
    local found kind width height colours
    found=$(identify -format '%m %w %h %k' "$1")
    read -r kind width height colours <<<"$found"
    if [ "$kind" != PNG ] || [ "$width" -lt 256 ] || [ "$height" -lt 256 ] || [ "$colours" -lt 1000 ]; then fail "$1 is no picture: $found"; fi
}
# open_window: starts the program as the shortcut does; sets `frame` to the seconds until something is drawn.
open_window() {
    local began
    began=$(now)
    person wine 'C:\users\'"$name"'\AppData\Local\Programs\Atelier\atelier.exe' >"$results/window.log" 2>&1 &
    await 90 'no window within 90 seconds' find_window
    await 60 'the window stayed blank' has_drawn
    frame=$(seconds_since "$began")
}
# query KEY: whether the person's registry has it.
query() { [ "$(code person wine reg query "HKCU\\Software\\$1")" = 0 ]; }
size_of() { awk -v s="$(stat --format %s "$1")" 'BEGIN { printf "%.1f MiB", s / 1048576 }'; }

test_windows() {
    local com='C:\users\'"$name"'\AppData\Local\Programs\Atelier\atelier.com' exe='C:\users\'"$name"'\AppData\Local\Programs\Atelier\atelier.exe'
    local uninstall_key='Microsoft\Windows\CurrentVersion\Uninstall\Atelier'
    cp "$windows" "$home/setup.exe"
    local began
    began=$(now)
    [ "$(code person wine setup.exe /S)" = 0 ] || fail "setup ended with an error: $(cat "$results/error.txt")"
    local installed
    installed=$(seconds_since "$began")
    for file in atelier.exe atelier.com builtin-model/manifest.json LICENSE licences.html uninstall.exe; do
        [ -s "$installed_folder/$file" ] || fail "$file was not installed"
    done
    [ -s "$user/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Atelier.lnk" ] || fail 'there is no shortcut'
    query "$uninstall_key" || fail 'there is no entry for uninstalling'
    say "installed in $installed s"

    [ "$(code person wine "$com" generate --prompt 'a red sunset over snowy mountains, a lake' --seed 7 --output 'C:\Bilder ü\图片.png')" = 0 ] ||
        fail "atelier.com did not paint: $(cat "$results/error.txt")"
    local painted
    painted=$(seconds_since "$began")
    check_picture "$drive/Bilder ü/图片.png"
    grep -q '图片.png' "$results/output.txt" || fail "standard output lacks the picture's path: $(cat "$results/output.txt")"
    cp "$drive/Bilder ü/图片.png" "$results/windows-picture.png"
    say "first picture after $painted s"

    [ "$(code person wine "$com" --version)" = 0 ] && grep -q '^atelier [0-9.]* (' "$results/output.txt" || fail 'atelier.com does not tell its version'
    [ "$(code person wine "$exe" --version)" = 0 ] && grep -q '^atelier [0-9.]* (' "$results/output.txt" || fail 'atelier.exe does not tell its version'
    [ "$(code person wine "$com" generate -p x --vae v)" = 2 ] && grep -q '^error: ' "$results/error.txt" || fail 'wrong flags do not end with code 2 and a sentence'
    [ "$(code person wine cmd /c "$com --version > C:\\version.txt")" = 0 ] && grep -q '^atelier ' "$drive/version.txt" || fail 'output of cmd is not redirected'
    say 'a console gets output, errors and exit codes'

    # A folder as OneDrive makes it for an organisation, and more than 260 characters.
    local deep='C:\users\'"$name"'\OneDrive - Müller & Söhne' part=狐狸狐狸狐狸狐狸狐狸狐狸狐狸狐狸狐狸狐狸
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do deep+="\\$part"; done
    [ "$(code person wine "$com" generate --prompt 'a fox' --steps 2 --output "$deep\\bild.png")" = 0 ] || fail "a long path: $(cat "$results/error.txt")"
    [ -n "$(find "$user/OneDrive - Müller & Söhne" -name bild.png)" ] || fail 'the picture is not at its long path'
    mkdir -p "$user/模型 ö" && cp -r "$installed_folder/builtin-model/." "$user/模型 ö/" && chown -R 1234:1234 "$user/模型 ö"
    say 'long paths, German and Chinese folders work'

    open_window
    local first_frame=$frame
    photograph windows-window.png
    press_the_button
    await 180 'the button made no picture' has_picture
    await 60 'the window does not come to rest' stands_still
    photograph windows-painted.png
    check_picture "$(find "$pictures" -name '*.png' | head -1)"
    say "window after $first_frame s, a picture by the button"

    local status
    status=$(code person wine setup.exe /S)
    [ "$status" = 0 ] || fail "installing over the open program ended with $status"
    await 10 'the window is still open' no_window
    [ -s "$installed_folder/atelier.exe" ] || fail 'installing over it lost the program'
    open_window
    local next_frame=$frame
    say "installed over the open program, which was closed; it opens again after $next_frame s"

    [ "$(code person wine "$installed_folder_windows\\uninstall.exe" /S)" = 0 ] || fail 'uninstalling failed'
    await 60 'files of the program are left' test ! -e "$installed_folder"
    await 10 'the window is still open' no_window

    [ "$(code person wine setup.exe /S)" = 0 ] || fail 'installing again failed'
    person wine "$exe" serve-device --port 50999 >/dev/null 2>&1 &
    local lender=$!
    sleep 5
    kill -0 $lender || fail 'serve-device ended'
    status=$(code person wine setup.exe /S)
    [ "$status" = 3 ] || fail "setup over a console's program ended with $status instead of 3"
    person wineserver --kill
    wait $lender || true
    say 'what a console runs is not closed: exit code 3'

    [ "$(code person wine "$installed_folder_windows\\uninstall.exe" /S)" = 0 ] || fail 'uninstalling failed'
    await 60 'files of the program are left' test ! -e "$installed_folder"
    [ ! -e "$user/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Atelier.lnk" ] || fail 'the shortcut is left'
    ! query "$uninstall_key" && ! query Atelier && ! query 'Classes\Applications\atelier.exe' && ! query 'Classes\Atelier.Canvas' || fail 'the registry still names the program'
    has_picture && [ -s "$drive/Bilder ü/图片.png" ] || fail 'pictures went with the program'
    (cd "$user" && find . -ipath '*atelier*' -type f) >"$results/windows-left.txt"
    grep -q settings.json "$results/windows-left.txt" || fail 'settings went with the program'
    say 'uninstalled; pictures and settings stay'
    printf '%-9s %11s %9.1f s %9.1f s %9.2f s %9.2f s\n' windows "$(size_of "$windows")" "$installed" "$painted" "$first_frame" "$next_frame" >"$results/windows-row.txt"
}
installed_folder_windows='C:\users\'"$name"'\AppData\Local\Programs\Atelier'

# The prompt is typed into its field, at the top left, and the button is clicked, at the bottom left.
press_the_button() {
    local X Y HEIGHT
    eval "$(DISPLAY=$display xdotool getwindowgeometry --shell "$(head -1 "$results/window")" | grep -E '^(X|Y|HEIGHT)=')"
    DISPLAY=$display xdotool mousemove $((X + 170)) $((Y + 100)) click 1 type --delay 30 'a red sunset over a lake'
    # A person's hand needs as long to get there; letters that come in the same frame as the click are lost.
    sleep 1
    DISPLAY=$display xdotool mousemove $((X + 170)) $((Y + HEIGHT - 35)) click 1
}

test_msi() {
    local program="$drive/Program Files/Atelier/atelier.exe"
    cp "$msi" "$home/atelier.msi"
    local began installed painted
    began=$(now)
    [ "$(code person wine msiexec /i atelier.msi /qn)" = 0 ] || fail "msiexec failed: $(cat "$results/error.txt")"
    installed=$(seconds_since "$began")
    [ -s "$program" ] || fail 'the .msi installed no program'
    [ "$(code person wine 'C:\Program Files\Atelier\atelier.com' generate --prompt 'a red sunset' --seed 7 --output 'C:\msi.png')" = 0 ] ||
        fail "the program of the .msi did not paint: $(cat "$results/error.txt")"
    painted=$(seconds_since "$began")
    check_picture "$drive/msi.png"
    [ "$(code person wine reg query 'HKLM\Software\Classes\.atelier' /ve)" = 0 ] || fail 'the .msi does not say whose canvases are'
    [ "$(code person wine msiexec /x atelier.msi /qn)" = 0 ] || fail 'msiexec did not remove it'
    [ ! -e "$program" ] || fail 'the program of the .msi is left'
    printf '%-9s %11s %9.1f s %9.1f s %11s %11s\n' msi "$(size_of "$msi")" "$installed" "$painted" - - >"$results/msi-row.txt"
}

# From the beginning: what wine starts without a screen shows nothing later.
screen
say "$(person wine --version), prefix for $name"
person wineboot --init >/dev/null 2>&1
[ -d "$user" ] || fail "wine made no folder for $name: $(ls "$drive/users")"
for format in windows msi; do
    [ -n "${!format}" ] || continue
    printf '\n==== %s\n' "$format"
    "test_$format"
done
person wineserver --kill || true
kill $server
{
    printf '%-9s %11s %11s %11s %11s %11s\n' 'format' 'file' 'installed' 'picture' 'first start' 'next start'
    cat "$results"/*-row.txt
} | tee "$results/table.txt"
echo "installed and picture: seconds from the beginning of the installation; starts: to the window's first frame. Results: $results"
