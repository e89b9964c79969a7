#!/bin/sh
# notarise.sh DMG: lets Apple look at a signed image and attaches its ticket. Needs ATELIER_NOTARY_APPLE_ID, ATELIER_NOTARY_TEAM and
# ATELIER_NOTARY_PASSWORD (a password for this program alone); without them, or without an identity, it does nothing.
set -eu
dmg=$1

if [ "${ATELIER_SIGNING_IDENTITY:--}" = - ] || [ -z "${ATELIER_NOTARY_APPLE_ID:-}" ]; then
    echo "Nothing to notarise with: Apple's servers were not asked." >&2
    exit 0
fi
xcrun notarytool submit "$dmg" --wait --apple-id "$ATELIER_NOTARY_APPLE_ID" --team-id "$ATELIER_NOTARY_TEAM" --password "$ATELIER_NOTARY_PASSWORD" >&2
xcrun stapler staple "$dmg" >&2
