#!/bin/sh
# keychain.sh: on a machine that is thrown away, puts the certificate of ATELIER_CERTIFICATE (a .p12 in base64, opened by
# ATELIER_CERTIFICATE_PASSWORD) into a keychain of its own, where codesign finds it. Without it nothing is done.
set -eu
if [ -z "${ATELIER_CERTIFICATE:-}" ]; then
    exit 0
fi
folder=$(mktemp -d)
password=$(uuidgen)
printf %s "$ATELIER_CERTIFICATE" | base64 -D >"$folder/certificate.p12"
security create-keychain -p "$password" "$folder/atelier.keychain-db"
security set-keychain-settings -lut 21600 "$folder/atelier.keychain-db"
security unlock-keychain -p "$password" "$folder/atelier.keychain-db"
security import "$folder/certificate.p12" -P "${ATELIER_CERTIFICATE_PASSWORD:-}" -T /usr/bin/codesign -k "$folder/atelier.keychain-db"
security set-key-partition-list -S apple-tool:,apple: -s -k "$password" "$folder/atelier.keychain-db" >/dev/null
rm "$folder/certificate.p12"
# Beside those that are searched already.
security list-keychains -d user -s "$folder/atelier.keychain-db" $(security list-keychains -d user | tr -d '"')
