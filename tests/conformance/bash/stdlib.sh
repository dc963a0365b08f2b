#!/bin/bash

set -euo pipefail

join() {
  local IFS=$1
  shift
  echo "$*"
}

cities=("Zürich 443" "Bern 137" "Aarau 22")
mapfile -t sorted < <(printf '%s\n' "${cities[@]}" | sort)
echo "sorted: $(join , "${sorted[@]}")"
echo "numeric: $(printf '%s\n' "${cities[@]}" | sort -k2,2n | head -n 1)"

declare -A counts=()
for word in the quick fox and the lazy dog and the cat; do
  counts[$word]=$((${counts[$word]:-0} + 1))
done
echo "counts: the ${counts[the]}, and ${counts[and]}, words ${#counts[@]}"

if [[ "bob@two.org" =~ ^([a-z]+)@([a-z]+)\.org$ ]]; then
  echo "regex: ${BASH_REMATCH[1]} at ${BASH_REMATCH[2]}"
fi

path="/srv/data/archive.tar.gz"
echo "parameters: ${path##*/} ${path%%.*} ${path/data/info} ${path:5:4}"
name="grüße"
echo "case: ${name^} ${name^^}"
echo "default: ${missing:-none} ${missing+set}"
echo "braces: $(echo {a,b}{1..3})"

echo "arithmetic: $((2 ** 62)) $((-7 / 2)) $((-7 % 3)) $((16#ff)) $((5 > 3 ? 1 : 0))"
printf 'format: %06x|%-6s|%8.3f|%+d|%q\n' 255 left 3.14159 5 "a b'c"

date="2024-02-29 12:30 UTC"
echo "date: $(LC_ALL=C date -u -d "$date" '+%A %-d %B %Y %s')"
echo "later: $(date -u -d "$date + 366 days" +%F)"
echo "zone: $(TZ=Europe/Berlin date -d "$date" +%H:%M)"

RANDOM=42
first="$RANDOM $RANDOM"
RANDOM=42
[[ "$RANDOM $RANDOM" == "$first" ]] && echo "random: repeats"

echo "base64: $(printf %s "Grüße" | base64)"
echo "sha256: $(printf %s "sandglass" | sha256sum | cut -d ' ' -f 1)"

echo "awk: $(seq 10 | awk '{ sum += $1 } END { print sum, NR }')"
echo "sed: $(echo "a1 b20 c300" | sed -E 's/[0-9]+/<&>/g')"
echo "tr: $(echo "hello" | tr 'a-y' 'b-z')"
echo "uniq: $(printf '%s\n' b a b c b | sort | uniq -c | sort -rn | head -n 1 | xargs)"
echo "find: $(find / -maxdepth 1 -name usr)"
echo "wc: $(wc -w <<<"three little words")"

read -r -d '' text <<'EOF' || true
here document: $unexpanded
EOF
echo "$text"

status=0
(exit 3) || status=$?
false | true || echo "pipefail: ${PIPESTATUS[0]}"
echo "status: $status"

coproc doubler { while read -r n; do echo $((n * 2)); done; }
echo 21 >&"${doubler[1]}"
read -r answer <&"${doubler[0]}"
echo "coproc: $answer"

trap 'echo "trap: leaving"' EXIT
