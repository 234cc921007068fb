# Empty Debian systems in folders, for the scripts beside this. Needs root and debootstrap.

note() { printf '\033[1m-- %s\033[0m\n' "$*"; }

# What commands in a system have at hand.
prelude='
set -eu
cd /root
absent() { if "$@"; then echo "should not be there: $*" >&2; exit 1; fi; }
now() { echo $(($(date +%s%N) / 1000000)); }  # milliseconds
seconds() { before=$(now); "$@"; echo "$(($(now) - before)) ms: $1 $2"; }
get() { apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null; }
first_result() {  # $1: the command that installs, $2: the program
  set -- "$1" "$2" "$(now)"; $1; set -- "$@" "$(now)"; $2
  set -- "$1" "$2" $((($4 - $3 + 50) / 100)) $((($(now) - $4 + 50) / 100))  # tenths of seconds
  echo "first result within $((($3 + $4) / 10)).$((($3 + $4) % 10)) s: $(($3 / 10)).$(($3 % 10)) s $1, $(($4 / 10)).$(($4 % 10)) s $2"
}
'
# $1: a system, $2: commands. /proc is mounted for them alone, since $ORIGIN of programs needs it; the folder of what apt downloads is
# that of all systems of the suite.
within() {
  local archives=${1%.*}.archives
  mkdir -p "$archives"
  unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --bind "$1" "$0/var/cache/apt/archives" && shift && exec chroot "$0" "$@"' \
    "$1" "$archives" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
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
