#!/bin/sh
# Prints the path of the newest Python that can carry the planner, or says in one line what this machine lacks and how to install it.
# PYTHON=... and CXX=... restrict the choice; SORTPLANNER_NO_NATIVE=1 asks for no compiler. Exit code 0 or 2.

DISK_KILOBYTES=4882813 # 5 GB: 1 GB each for input, output, replica and spill, and the rest for packages and the build

newest_python() {
    for candidate in ${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3 python}; do
        # A name on the PATH may be a version manager's shim for a version that is switched off: only running it tells.
        path=$("$candidate" - 2>/dev/null <<'END'
import os, sys, sysconfig
import ensurepip, venv
assert (3, 11) <= sys.version_info[:2] <= (3, 14)
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")) or os.environ.get("SORTPLANNER_NO_NATIVE")
print(sys.executable)
END
        ) && [ -x "$path" ] && echo "$path" && return 0
    done
    return 1
}

has_compiler() {
    [ -n "$SORTPLANNER_NO_NATIVE" ] && return 0
    for candidate in ${CXX:-c++ g++ clang++}; do
        printf '#include <bit>\n#include <concepts>\n#include <span>\nint main() {}\n' |
            $candidate -std=c++20 -x c++ -fsyntax-only - 2>/dev/null && return 0
    done
    return 1
}

has_disk() {
    [ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -ge "$DISK_KILOBYTES" ]
}

missing="" packages=""
lacks() {
    missing="${missing:+$missing; }$1"
    packages="${packages:+$packages }$2"
}

install_command() {
    if command -v apt-get; then echo "sudo apt-get install"
    elif command -v dnf; then echo "sudo dnf install"
    elif command -v zypper; then echo "sudo zypper install"
    elif command -v pacman; then echo "sudo pacman -S"
    elif command -v apk; then echo "sudo apk add"
    elif command -v brew; then echo "brew install"
    fi | tail -n 1
}

case $(install_command) in
    *apt-get*) python_packages="python3 python3-venv python3-dev" compiler_packages="g++" ;;
    *dnf* | *zypper*) python_packages="python3 python3-devel" compiler_packages="gcc-c++" ;;
    *apk*) python_packages="python3 python3-dev" compiler_packages="g++ linux-headers" ;;
    *brew*) python_packages="python" compiler_packages="llvm" ;;
    *) python_packages="python" compiler_packages="gcc" ;;
esac

python=$(newest_python) || lacks "Python 3.11-3.14 with its venv module and headers${PYTHON:+ ($PYTHON is not)}" "$python_packages"
has_compiler || lacks "a C++20 compiler${CXX:+ ($CXX is not)}" "$compiler_packages"
has_disk || lacks "5 GB of free disk in $PWD" ""

if [ -n "$missing" ]; then
    command=$(install_command)
    echo "preflight: missing: $missing.${packages:+ Install with: ${command:-your package manager:} $packages}" >&2
    exit 2
fi
echo "$python"
