#!/bin/sh
# Installs Atelier for the person who runs this; root is not needed.
#
#   ./install.sh               into ~/.local; over an older version too
#   ./install.sh --uninstall   takes it away again; models, pictures and settings stay
#
# The program goes to ~/.local/opt/atelier, with a link in ~/.local/bin, and the desktop's entry, icons and file types to where the desktop
# looks for them (XDG_DATA_HOME, usually ~/.local/share).
set -eu

: "${HOME:?is not set}"
prefix=$HOME/.local
data=${XDG_DATA_HOME:-$prefix/share}
place=$prefix/opt/atelier
link=$prefix/bin/atelier
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P)

# Files that the desktop reads, relative to its data folder.
desktop_files='
applications/atelier.desktop
icons/hicolor/48x48/apps/atelier.png
icons/hicolor/128x128/apps/atelier.png
icons/hicolor/256x256/apps/atelier.png
icons/hicolor/512x512/apps/atelier.png
icons/hicolor/scalable/apps/atelier.svg
man/man1/atelier.1.gz
metainfo/atelier.metainfo.xml
mime/packages/atelier.xml
'

# Tells the desktop to look again, where it has the programs for that.
refresh_desktop() {
    if command -v update-desktop-database >/dev/null; then update-desktop-database -q "$data/applications" || true; fi
    if command -v update-mime-database >/dev/null && [ -d "$data/mime/packages" ]; then update-mime-database "$data/mime" || true; fi
    if command -v gtk-update-icon-cache >/dev/null; then gtk-update-icon-cache -q -t "$data/icons/hicolor" 2>/dev/null || true; fi
}

uninstall() {
    for file in $desktop_files; do
        rm -f -- "$data/$file"
        # Folders that were made for it go too, as far as they are empty.
        rmdir -p -- "$data/$(dirname -- "$file")" 2>/dev/null || true
    done
    # Somebody else's link of that name stays.
    if [ "$(readlink -- "$link" 2>/dev/null)" = "$place/bin/atelier" ]; then rm -f -- "$link"; fi
    rm -rf -- "$place" "$place.new"
    rmdir -- "$prefix/opt" "$prefix/bin" 2>/dev/null || true
    refresh_desktop
    echo 'Atelier is taken away. Models, pictures and settings are where they were.'
}

install() {
    if [ "$here" = "$place" ]; then
        echo 'This is the installed copy. To install another version, run the install.sh that came with it.' >&2
        exit 1
    fi
    if [ ! -x "$here/bin/atelier" ] || [ ! -d "$here/share/atelier" ]; then
        echo "$here is not whole: unpack the archive again, with everything in it." >&2
        exit 1
    fi
    mkdir -p -- "$prefix/opt" "$prefix/bin"
    # The old version stays until the new one is whole; a running one keeps its file.
    rm -rf -- "$place.new"
    mkdir -- "$place.new"
    cp -R -- "$here/bin" "$place.new/bin"
    mkdir -- "$place.new/share"
    cp -R -- "$here/share/atelier" "$place.new/share/atelier"
    cp -- "$here/install.sh" "$place.new/install.sh"
    rm -rf -- "$place"
    mv -- "$place.new" "$place"
    if [ -e "$link" ] && [ ! -L "$link" ]; then
        echo "$link is not Atelier's and stays; start Atelier from the menu, or as $place/bin/atelier." >&2
    else
        ln -sfn -- "$place/bin/atelier" "$link"
    fi
    for file in $desktop_files; do
        mkdir -p -- "$data/$(dirname -- "$file")"
        cp -- "$here/share/$file" "$data/$file"
    done
    case $place in
        # Such names would have to be written in a way that few desktops read; the link in ~/.local/bin is found by its name.
        *[\"\`\$\\%\|\&]*) ;;
        *) sed "s|^Exec=atelier|Exec=\"$place/bin/atelier\"|" "$here/share/applications/atelier.desktop" >"$data/applications/atelier.desktop" ;;
    esac
    refresh_desktop
    echo "Atelier is installed. It is in the menu of your desktop, and here: $link"
    case :$PATH: in
        *":$prefix/bin:"*) ;;
        *) echo "To start it as \`atelier\` in a terminal, add $prefix/bin to your PATH, or log in anew." ;;
    esac
    echo "To take it away: $place/install.sh --uninstall"
}

case ${1-} in
    '') install ;;
    --uninstall) uninstall ;;
    *)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$0" | sed '$d' >&2
        exit 2
        ;;
esac
