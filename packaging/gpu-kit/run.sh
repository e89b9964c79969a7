#!/bin/sh
# Measures Atelier on this machine's graphics card: ./run.sh [OUT]. Needs Python 3; no network, no Rust.
#
#   KIT_PARTS="works switch"  only these parts (default: those of KIT_PARTS below)
#   KIT_DEVICE=Vulkan1        another device than the first graphics card
#   KIT_SMALL=1               tiny models and pictures, to try the kit itself on Mesa's software device
#   KIT_PROGRAM=FILE          another program than the kit's, such as one with CUDA
#   KIT_MODELS=FOLDER         where random models are written (30 GB; 7 GB where there is room for one alone) and stay
#
# OUT/measured-gpu.md grows row by row; a part that runs out of time keeps the rows that it has.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/out}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Seconds for each part.
LIMITS="works=70 memory-sd15=75 memory-sdxl=50 memory-zimage=50 memory-flux=120 speed-sd15=130 speed-sdxl=60 switch=30 breaks=300 training=600
likeness=150 operations=90 units=40 caches=60 streaming=60"
: "${KIT_PARTS:=works memory-sd15 memory-sdxl memory-zimage speed-sd15 speed-sdxl switch}"
keep=${KIT_MODELS:-}
: "${KIT_MODELS:=$out/models}"
export KIT_MODELS

# Vulkan's loader, where the machine has none, and drivers in a place where the loader does not look.
if ! ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1'; then
    export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
if [ -z "${VK_DRIVER_FILES:-}" ] && ! ls /etc/vulkan/icd.d/*.json /usr/share/vulkan/icd.d/*.json >/dev/null 2>&1; then
    for file in /usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json /usr/local/share/vulkan/icd.d/nvidia_icd.json; do
        if [ -f "$file" ]; then export VK_DRIVER_FILES="$file"; fi
    done
fi
# Without a graphics card ggml uses Mesa's software device only where it is named.
if [ -n "${KIT_SMALL:-}" ]; then export GGML_VK_VISIBLE_DEVICES="${GGML_VK_VISIBLE_DEVICES:-0}"; fi

# shellcheck disable=SC2086
python3 "$here/kit.py" "$out" begin $KIT_PARTS || exit 1
for part in $KIT_PARTS; do
    limit=
    for entry in $LIMITS; do
        case $entry in "$part="*) limit=${entry#*=} ;; esac
    done
    if [ -z "$limit" ]; then
        echo "There is no part called $part." >&2
        exit 2
    fi
    begun=$(date +%s)
    # INT first: what runs below ends and gives its memory back.
    timeout --signal=INT --kill-after=15 "$limit" python3 "$here/kit.py" "$out" "$part"
    code=$?
    python3 "$here/kit.py" "$out" end "$part" "$code" "$(($(date +%s) - begun))" "$limit"
done
if [ -z "$keep" ]; then rm -rf "$KIT_MODELS"; fi
echo "$out/measured-gpu.md"
