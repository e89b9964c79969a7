#!/bin/sh
# dmg.sh APP DMG: makes the image that a person opens: the bundle beside a link to the folder of programs.
set -eu
app=$1 dmg=$2

folder=$(mktemp -d)
cp -R "$app" "$folder/"
ln -s /Applications "$folder/Applications"
rm -f "$dmg"
hdiutil create -volname Atelier -srcfolder "$folder" -fs HFS+ -format UDZO -ov "$dmg" >&2
rm -rf "$folder"
if [ "${ATELIER_SIGNING_IDENTITY:--}" != - ]; then
    codesign --timestamp --sign "$ATELIER_SIGNING_IDENTITY" "$dmg"
fi
