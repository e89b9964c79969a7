#!/bin/sh
# bundle.sh STAGE INFO APP: makes the bundle Atelier.app of a staged folder (program, builtin-model, licences) and its Info.plist.
set -eu
stage=$1 info=$2 app=$3
here=$(cd "$(dirname "$0")" && pwd)

rm -rf "$app"
mkdir -p "$app/Contents/MacOS" "$app/Contents/Resources"
cp "$info" "$app/Contents/Info.plist"
cp "$stage/atelier" "$app/Contents/MacOS/atelier"
chmod 755 "$app/Contents/MacOS/atelier"
cp -R "$stage/builtin-model" "$app/Contents/Resources/builtin-model"
cp "$stage/LICENSE" "$stage/licences.html" "$app/Contents/Resources/"

icon=$here/../icon.png
if command -v iconutil >/dev/null; then
    set=$(mktemp -d)/atelier.iconset
    mkdir "$set"
    for size in 16 32 128 256; do
        sips -z "$size" "$size" "$icon" --out "$set/icon_${size}x${size}.png" >/dev/null
        twice=$((size * 2))
        sips -z "$twice" "$twice" "$icon" --out "$set/icon_${size}x${size}@2x.png" >/dev/null
    done
    cp "$icon" "$set/icon_512x512.png"
    iconutil --convert icns --output "$app/Contents/Resources/atelier.icns" "$set"
    rm -rf "$(dirname "$set")"
    plutil -lint "$app/Contents/Info.plist" >/dev/null
else
    # Elsewhere, to look at the bundle: icnsutils and imagemagick.
    sizes=$(mktemp -d)
    for size in 16 32 128 256 512; do
        convert "$icon" -resize "${size}x${size}" "$sizes/$size.png"
    done
    png2icns "$app/Contents/Resources/atelier.icns" "$sizes"/*.png >/dev/null
    rm -rf "$sizes"
fi
