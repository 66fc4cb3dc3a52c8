#!/bin/sh
# Compiles the programs (`*.bpf.c`) into the objects beside them, or into another directory: build.sh [DIR]. Needs clang, llvm-strip and libbpf-dev.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
cd "$here"
for source in *.bpf.c; do
    object=$out/${source%.c}.o
    ${CLANG:-clang} -target bpf -mcpu=v3 -O2 -g -Wall -Werror -fno-ident -c "$source" -o "$object" \
        -D__TARGET_ARCH_x86 -I"/usr/include/$(uname -m)-linux-gnu" -fdebug-compilation-dir=.
    ${STRIP:-llvm-strip} -g "$object"
done
