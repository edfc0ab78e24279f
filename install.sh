#!/bin/sh
# Installs `letta`.
#   ./install.sh                                      in a checkout: builds it from source
#   curl -fsSL URL/install.sh | LETTA_DOWNLOAD_BASE=URL sh   downloads a release and verifies its checksum
#
# LETTA_INSTALL_DIR     where the program goes; default ~/.local/bin
# LETTA_DOWNLOAD_BASE   where SHA256SUMS and letta-<platform>.gz are; must be set to download
#
# Everything happens in a scratch directory beside the destination; the program appears by one rename, or not at all.
set -eu

say() {
  printf '%s\n' "$*"
}

fail() {
  printf 'Error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '%s\n' "$2" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Only a script that lies in a checkout builds one; piped into a shell, $0 is the shell.
checkout_dir() {
  [ "$(basename -- "$0")" = install.sh ] && [ -f "$0" ] || return 1
  folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || return 1
  grep -q '^ *"name": *"letta",' "$folder/package.json" 2>/dev/null && [ -f "$folder/scripts/build.ts" ] || return 1
  printf '%s\n' "$folder"
}

scratch=    # Removed at the end, whatever happened.
child=      # The download that runs at the moment.
made_dirs=  # Directories this run created, deepest first, one a line; removed unless something was installed.
installed=

clean_up() {
  [ -z "$child" ] || kill "$child" 2>/dev/null || true
  [ -z "$scratch" ] || rm -rf "$scratch"
  [ -n "$installed" ] || remove_made_dirs
}

remove_made_dirs() {
  printf '%s' "$made_dirs" | while IFS= read -r made; do
    rmdir "$made" 2>/dev/null || true
  done
}

make_dir() {
  missing=$1
  while [ ! -e "$missing" ] && [ "$missing" != / ]; do
    made_dirs="$made_dirs$missing
"
    missing=$(dirname -- "$missing")
  done
  mkdir -p "$1" 2>/dev/null || fail "cannot create the directory $1." "Set LETTA_INSTALL_DIR to one you can write to."
}

# In the background, because a shell runs its traps only between foreground commands: Ctrl-C must not wait for a
# download.
run() {
  "$@" &
  child=$!
  status=0
  wait "$child" || status=$?
  child=
  return "$status"
}

open_scratch() {
  if [ -n "${LETTA_INSTALL_DIR:-}" ]; then
    dir=$LETTA_INSTALL_DIR
  else
    [ -n "${HOME:-}" ] || fail "HOME is not set." "Set LETTA_INSTALL_DIR to the directory letta should go to."
    dir=$HOME/.local/bin
  fi
  case $dir in
    /* | [A-Za-z]:*) ;;
    *) dir=$(pwd)/$dir ;;
  esac
  make_dir "$dir"
  [ ! -d "$dir/letta$suffix" ] || fail "$dir/letta$suffix is a directory."
  # What a killed installer left behind.
  find "$dir" -maxdepth 1 -name '.letta-install.*' -mtime +0 -exec rm -rf {} + 2>/dev/null || true
  scratch=$(mktemp -d "$dir/.letta-install.XXXXXX" 2>/dev/null) ||
    fail "cannot write to $dir." "Set LETTA_INSTALL_DIR to a directory you can write to, or free some space."
}

is_musl() {
  # A glibc system may have musl installed as well, so glibc is asked first.
  if getconf GNU_LIBC_VERSION >/dev/null 2>&1; then return 1; fi
  if ldd --version 2>&1 | grep -qi musl; then return 0; fi
  ls /lib/ld-musl-* >/dev/null 2>&1
}

find_suffix() {
  case $(uname -s) in
    MINGW* | MSYS* | CYGWIN*) suffix=.exe ;;
    *) suffix= ;;
  esac
}

find_platform() {
  system=$(uname -s)
  machine=$(uname -m)
  case $machine in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no letta for this processor: $machine ($system)." ;;
  esac
  case $system in
    Linux)
      platform=linux-$arch
      if is_musl; then platform=$platform-musl; fi
      ;;
    Darwin)
      # A translated shell calls an Apple processor x86_64.
      if [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then arch=arm64; fi
      platform=darwin-$arch
      ;;
    MINGW* | MSYS* | CYGWIN*)
      # Windows on ARM runs x64 programs.
      platform=windows-x64
      ;;
    *) fail "there is no letta for this system: $system ($machine)." ;;
  esac
}

# fetch URL FILE
fetch() {
  status=0
  if has curl; then
    # A redirect must not leave https.
    case $1 in https:*) redirects='=https' ;; *) redirects='=http,https' ;; esac
    progress=-sS
    if [ -t 2 ]; then progress=--progress-bar; fi
    run curl "$progress" -L --fail --proto '=http,https' --proto-redir "$redirects" --connect-timeout 20 \
      --speed-limit 1 --speed-time 60 -o "$2" "$1" || status=$?
    case $status in
      0) return ;;
      22) fail "$1 is not there (the server's answer is above)." ;;
      18) fail "the download of $1 stopped before its end." "Try again." ;;
      23) fail "could not write to $dir: the disk may be full." ;;
    esac
  elif has wget; then
    # GNU wget would try twenty times; busybox's does not know the option.
    tries=
    if wget --help 2>&1 | grep -q -e --tries; then tries=--tries=2; fi
    # shellcheck disable=SC2086
    run wget -q $tries -T 60 -O "$2" "$1" || status=$?
    case $status in
      0) return ;;
      3) fail "could not write to $dir: the disk may be full." ;;
      8) fail "$1 is not there." ;;
    esac
  else
    fail "downloading needs curl or wget, and neither was found."
  fi
  fail "could not download $1 (code $status)."
}

sha256() {
  if has sha256sum; then
    sha256sum <"$1"
  elif has shasum; then
    shasum -a 256 <"$1"
  elif has openssl; then
    openssl dgst -sha256 -r <"$1"
  else
    fail "verifying the download needs sha256sum, shasum or openssl, and none was found."
  fi
}

# The checksum the list has for a file name; empty when it has none.
listed_sha256() {
  awk -v name="$1" '{ file = $2; sub(/^\*/, "", file) } file == name { print $1; exit }' "$scratch/SHA256SUMS"
}

check_download_base() {
  [ -n "${LETTA_DOWNLOAD_BASE:-}" ] || fail "LETTA_DOWNLOAD_BASE is not set." \
    "Set it to the address that holds SHA256SUMS and the letta-<platform> files, or run ./install.sh in a checkout."
  base=$LETTA_DOWNLOAD_BASE
  while [ "$base" != "${base%/}" ]; do base=${base%/}; done
  case $base in
    http://* | https://*) ;;
    *) fail "LETTA_DOWNLOAD_BASE must start with https:// or http://, not \"$base\"." ;;
  esac
}

download() {
  fetch "$base/SHA256SUMS" "$scratch/SHA256SUMS"
  file=letta-$platform.gz
  expected=$(listed_sha256 "$file")
  if [ -z "$expected" ] || ! has gzip; then
    file=letta-$platform$suffix
    expected=$(listed_sha256 "$file")
  fi
  [ -n "$expected" ] || fail "$base/SHA256SUMS lists no letta for $platform."

  say "Downloading $base/$file"
  fetch "$base/$file" "$scratch/$file"
  actual=$(sha256 "$scratch/$file") || exit 1
  actual=${actual%% *}
  [ "$actual" = "$expected" ] || fail "$file does not have the published checksum, so it was not installed." \
    "expected $expected, got ${actual:-nothing}: the download was cut or changed on the way. Try again."

  program=$scratch/letta$suffix
  case $file in
    *.gz) run gzip -dc "$scratch/$file" >"$program" || fail "could not unpack $file into $dir: the disk may be full." ;;
    *) [ "$scratch/$file" = "$program" ] || mv "$scratch/$file" "$program" ;;
  esac
}

build() {
  say "Building letta from $1"
  program=$scratch/letta$suffix
  "$1/scripts/bun" "$1/scripts/build.ts" "$program" >/dev/null || fail "the build failed; see above."
}

put_in_place() {
  chmod 755 "$program"
  # A program for the wrong platform must not replace a working one.
  version=$("$program" --version 2>"$scratch/errors") || {
    reason=$(head -n 3 "$scratch/errors")
    case ${platform:-} in
      *-musl) reason="$reason
On Alpine Linux it needs: apk add libstdc++" ;;
    esac
    fail "the new letta does not run on this machine, so it was not installed." "$reason"
  }
  mv -f "$program" "$dir/letta$suffix" || fail "cannot replace $dir/letta$suffix."
  installed=yes
}

path_advice() {
  case ${SHELL:-} in
    */fish) say "  fish_add_path \"$dir\"" ;;
    */zsh) say "  echo 'export PATH=\"$dir:\$PATH\"' >> ~/.zshrc && exec zsh" ;;
    */bash) say "  echo 'export PATH=\"$dir:\$PATH\"' >> ~/.bashrc && exec bash" ;;
    *) say "  export PATH=\"$dir:\$PATH\"" ;;
  esac
}

say_what_next() {
  say "Installed letta ${version%% *}: $dir/letta$suffix"
  say ""
  case :${PATH:-}: in
    *":$dir:"*)
      found=$(command -v letta || true)
      [ -z "$found" ] || [ "$found" = "$dir/letta$suffix" ] ||
        say "Note: $found comes first on your PATH and hides this one."
      ;;
    *)
      say "$dir is not on your PATH. To change that:"
      path_advice
      say ""
      ;;
  esac
  say "Next:"
  say "  letta demo    see it work in seconds, without account, key or network"
  say "  letta         start working"
}

main() {
  umask 022
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  find_suffix
  # Whatever can be refused is refused before anything is created.
  if checkout=$(checkout_dir); then
    open_scratch
    build "$checkout"
  else
    check_download_base
    find_platform
    open_scratch
    download
  fi
  put_in_place
  say_what_next
}

# Called last: a script that was cut on its way through a pipe does nothing.
main
