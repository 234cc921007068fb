# Empty Debian systems in folders, for the scripts beside this. Needs root and debootstrap.

note() { printf '\033[1m-- %s\033[0m\n' "$*"; }

# What commands in a system have at hand.
prelude='
set -eu
cd /root
absent() { if "$@"; then echo "should not be there: $*" >&2; exit 1; fi; }
seconds() { before=$(date +%s%N); "$@"; echo "$(( ($(date +%s%N) - before) / 1000000 )) ms: $1 $2"; }
get() { apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null; }
'
within() {  # $1: a system, $2: commands; /proc is mounted for them alone, since $ORIGIN of programs needs it
  unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    DEBCONF_NOWARNINGS=yes LC_ALL=C sh -c "$prelude$2"
}

plain_system() {  # $1: suite, $2: folder, which keeps the system; prints its path
  local plain=$2/$1.plain
  if [ ! -e "$plain/usr/bin/apt-get" ]; then
    note "debootstrap $1" >&2
    mkdir -p "$2"
    rm -rf --one-file-system "$plain" "$plain.part"
    debootstrap --variant=minbase "$1" "$plain.part" "${TAILOR_DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$2/$1.log" ||
      { tail -n 20 "$2/$1.log" >&2; return 1; }
    mv "$plain.part" "$plain"
  fi
  realpath "$plain"
}

copy_of() {  # $1: a system, $2: the copy, with up-to-date lists of packages
  rm -rf --one-file-system "$2"
  cp -a "$1" "$2"
  within "$2" 'apt-get update -qq'
}
