#!/bin/sh
# sign.sh APP: signs the bundle with the identity in ATELIER_SIGNING_IDENTITY ("Developer ID Application: ..."). Without one it is signed ad hoc:
# Apple silicon runs nothing unsigned, and a person then opens it by a right click.
set -eu
app=$1
here=$(cd "$(dirname "$0")" && pwd)
identity=${ATELIER_SIGNING_IDENTITY:--}

if [ "$identity" = - ]; then
    echo "No ATELIER_SIGNING_IDENTITY: the bundle is signed ad hoc." >&2
    codesign --force --sign - --entitlements "$here/entitlements.plist" "$app"
else
    codesign --force --timestamp --options runtime --entitlements "$here/entitlements.plist" --sign "$identity" "$app"
fi
codesign --verify --strict --verbose=2 "$app"
