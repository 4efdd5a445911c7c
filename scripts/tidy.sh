#!/bin/sh
# Runs clang-tidy 16 over all C++ code that build/release knows, or over the files named.
set -eu
cd "$(dirname "$0")/.."

# A run over one file takes seconds: the slowest part is the headers of the libraries.
pattern="^$PWD/(src|simulate|tests|bench)/.*\.cc$"
[ $# -eq 0 ] || pattern="($(echo "$*" | tr ' ' '|'))$"
# The compile commands are g++'s, whose -Wconversion does not hold -Wsign-conversion.
run-clang-tidy-16 -quiet -extra-arg=-Wno-unknown-warning-option -extra-arg=-Wno-sign-conversion \
  -p build/release -j "$(nproc)" "$pattern"
