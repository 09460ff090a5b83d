#!/usr/bin/env bash
# tools/check_exports.sh LIBRARY HEADER... - the shared library exports the functions of its headers and nothing else.
set -euo pipefail
library=$1
shift
# Absolute symbols (A) are the names of version nodes.
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
# Headers without comments.
text=$(sed -e 's,//.*,,' -e ':a' -e 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' -e '/\/\*/{N;ba' -e '}' "$@")
names() { { grep -oE '\brn_[a-z0-9_]+ *\(' || true; } | tr -d ' (' | sort -u; }
# Functions that are defined in a header are inline: the library need not have them.
inline=$(sed -nE 's/^static inline [^(]*\b(rn_[a-z0-9_]+ *\().*/\1/p' <<<"$text" | names)
declared=$(comm -23 <(names <<<"$text") <(echo "$inline"))

status=0
while read -r name; do
    [[ -z $name ]] || { echo "${library##*/}: exports $name, which no public header declares"; status=1; }
done < <(comm -23 <(echo "$exported") <(echo "$declared"))
while read -r name; do
    [[ -z $name ]] || { echo "${library##*/}: lacks $name, which a public header declares"; status=1; }
done < <(comm -13 <(echo "$exported") <(echo "$declared"))
exit $status
