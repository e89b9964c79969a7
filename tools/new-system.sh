# A new Debian in a folder; for the scripts that try something on a machine without anything. They set `folder` and `suite`, run as root, and
# mount in a namespace of their own. Sourced, not run.
# shellcheck shell=bash

# make_system PROGRAM PACKAGES: makes it, unless PROGRAM, which one of the PACKAGES brings, is there already.
make_system() {
    [ -x "$folder/usr/bin/$1" ] && return
    local mirror=()
    # The server that this machine itself uses, where it is a Debian.
    if grep -q '^ID=debian' /etc/os-release; then
        mapfile -t mirror < <(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
            sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' | head -1)
    fi
    debootstrap --variant=minbase --include="$2" "$suite" "$folder" "${mirror[@]}" || return
    # Freshly installed systems know no package until they are told to look.
    rm -rf "$folder"/var/lib/apt/lists/*
}

# How this machine reaches its package servers: names, certificates, apt's sources.
carry_network() {
    cp -L /etc/resolv.conf /etc/hosts "$folder/etc/"
    mkdir -p "$folder/etc/ssl/certs" "$folder/usr/local/share/ca-certificates" "$folder/root/.cargo"
    [ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
    local file
    for file in config config.toml; do
        [ ! -e "${CARGO_HOME:-$HOME/.cargo}/$file" ] || cp -L "${CARGO_HOME:-$HOME/.cargo}/$file" "$folder/root/.cargo/"
    done
    # Settings of how apt reaches its servers, and none of its hooks.
    for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
        if [ -f "$file" ] && grep -q '^Acquire::' "$file"; then cp "$file" "$folder/etc/apt/apt.conf.d/"; fi
    done
    if grep -q "^VERSION_CODENAME=$suite\$" /etc/os-release; then
        rm -f "$folder/etc/apt/sources.list"
        for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
            [ ! -e "$file" ] || cp "$file" "$folder${file}"
        done
        cp -rn /usr/share/keyrings/. "$folder/usr/share/keyrings/"
    fi
}

mount_system() {
    mount -t proc proc "$folder/proc"
    mount --rbind /dev "$folder/dev"
    mount -t sysfs -o ro sysfs "$folder/sys" 2>/dev/null || true
    mkdir -p "$folder/tmp" && chmod 1777 "$folder/tmp"
}

# in_system [NAME=VALUE...] COMMAND...: runs it there, with an environment as new as the machine.
in_system() {
    local carried=()
    mapfile -t carried < <(env | grep -iE '^([a-z_]*(ssl|cert|ca_bundle|cainfo|proxy)[a-z_]*|cargo_(registries|net|http|source)_[a-z_]*)=' || true)
    chroot "$folder" /usr/bin/env --ignore-environment "${carried[@]}" LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
