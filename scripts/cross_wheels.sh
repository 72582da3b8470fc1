#!/bin/sh
# Builds wheels for other Linux systems with zig's C++ compiler: sh scripts/cross_wheels.sh TARGET...
# Targets: aarch64-gnu, x86_64-gnu (glibc 2.28), aarch64-musl, x86_64-musl. They go to dist/, for the Python of .venv ($PYTHON). `make setup` comes first.
# With SOURCE_DATE_EPOCH set, the files in a wheel carry that time.
# Tried: arm64 with glibc on an emulated Debian 12 with Python 3.11, x86-64 with musl on CPython 3.11.2 built for musl 1.2.5. Both plan, and
# sort to the same bytes as on x86-64 with glibc. For macOS the sources compile and link for arm64 with zig's headers; that never ran.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
ZIG=build/zig/bin/python

if [ $# -eq 0 ]; then sed -n '2,4s/^# //p' "$0"; exit 2; fi
[ -x $ZIG ] || { "$PYTHON" -m venv build/zig && $ZIG -m pip install --quiet ziglang==0.17.1 wheel==0.48.0; }
mkdir -p build/cross dist
version=$("$PYTHON" -c 'import sys; print("%d%d" % sys.version_info[:2])')

for target in "$@"; do
    machine=${target%-*} libc=${target#*-}
    case $target in
        aarch64-gnu | x86_64-gnu) triple=$machine-linux-gnu.2.28 platform=manylinux_2_28_$machine ;;
        aarch64-musl | x86_64-musl) triple=$machine-linux-musl platform=musllinux_1_2_$machine ;;
        *) echo "unknown target $target: use aarch64-gnu, x86_64-gnu, aarch64-musl or x86_64-musl" >&2; exit 2 ;;
    esac
    compiler="$PWD/build/cross/$target"
    for language in cc c++; do
        printf '#!/bin/sh\nexec "%s" -m ziglang %s -target %s "$@"\n' "$PWD/$ZIG" $language $triple > "$compiler-$language"
        chmod +x "$compiler-$language"
    done
    made=build/cross/dist-$target
    rm -rf "$made"
    # The linker strips the module, since this machine's strip may not know the other processor.
    CC="$compiler-cc" CXX="$compiler-c++" _PYTHON_HOST_PLATFORM="linux-$machine" SORTPLANNER_NATIVE=1 \
        "$PYTHON" -m build --wheel --no-isolation --outdir "$made" \
        "-Cbuild-dir=build/$libc-$machine" -Cinstall.strip=false \
        -Ccmake.define.CMAKE_SYSTEM_NAME=Linux "-Ccmake.define.CMAKE_SYSTEM_PROCESSOR=$machine" \
        "-Ccmake.define.PYTHON_MODULE_EXTENSION=.cpython-$version-$machine-linux-$libc.so" \
        -Ccmake.define.CMAKE_MODULE_LINKER_FLAGS=-s -Ccmake.define.CMAKE_UNITY_BUILD=ON .
    name=$($ZIG -m wheel tags --platform-tag $platform "$made"/*.whl)
    mv "$made/$name" dist/
    echo "dist/$name"
done
