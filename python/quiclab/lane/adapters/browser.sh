#!/bin/sh
# Starts the loader of pages in a mount namespace of its own: DIRECTORY COMMAND. Profiles and all else that a browser
# writes lie in its /dev/shm, which goes with its last process, even if that is killed.
set -e
directory="$1"
shift
(
    cd "$directory"
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    case "$directory" in
    /dev/shm/*) # its results are to stay: the directory from below the new file system, which only `.` still names
        mkdir -p "$directory"
        mount --no-canonicalize --bind . "$directory"
        ;;
    esac
)
export TMPDIR=/dev/shm
exec "$@"
