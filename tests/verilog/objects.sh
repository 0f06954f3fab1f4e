#!/bin/sh
# OBJCACHE of Verilator's makefile: is called with a compiler's command. The objects of Verilator's run-time library, the
# same for all test benches, are kept in the user's cache by their text, its version and the flags.
for source; do :; done
case "$source" in
*/verilated*.cpp) ;;
*) exec "$@" ;;
esac
kept="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/allo-checks/objects"
before='' target=''
for word; do
    [ "$before" != -o ] || target="$word"
    before="$word"
done
[ -n "$target" ] || exec "$@"
key=$({
    "$1" --version
    printf '%s\n' "$@" | grep -v /
    cat "$source" "${source%/*}/verilated_config.h"
} | sha256sum | cut -c1-32)
if [ ! -f "$kept/$key.o" ]; then
    "$@" || exit
    mkdir -p "$kept" && cp "$target" "$kept/$key.$$" && mv "$kept/$key.$$" "$kept/$key.o"
    exit 0
fi
cp "$kept/$key.o" "$target"
