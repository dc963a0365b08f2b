#!/bin/bash
# Builds the image with a real engine, Podman, and runs it: with the options of
# docs/container.md and with less, beside an agent, as a pod and by compose. By
# hand; three minutes, and with --full as long as the build takes.
#
#   sudo tests/by_hand/container_engine.sh [--full] [--runtime NAME]
#                                  [--save FILE | --image FILE]
#
#   --full     compile inside; else the image gets what build/ has
#   --runtime  crun or runc; if not said what suits this host's control groups
#   --save     write the image to FILE, for --image elsewhere
#   --image    build nothing: the image is in FILE
#
# Needs root, podman and, but for --image, mmdebstrap and the release build.
# Images and containers are kept in a directory of this run's own. No registry of
# images is asked: the base is made here, with this machine's Debian packages.
set -euo pipefail
source "$(dirname "$0")/../../deploy/common.sh"
source "$(dirname "$0")/../../deploy/debian_tree.sh"

USAGE='usage: container_engine.sh [--full] [--runtime NAME] [--save FILE | --image FILE]'
NAME=sandglass-engine-test
POD=agent-with-sandglass
LANGUAGES='python bash'
START_SECONDS=${SANDGLASS_START_SECONDS:-60}
LEAST=(SYS_ADMIN CHOWN FOWNER SETUID SETGID SETPCAP)
INSIDE=(SETUID SETGID SETFCAP)
SECCOMP=$SANDGLASS_ROOT/deploy/container/seccomp.json

full=no
runtime=''
save=''
image=''
work=''
failed=0
host_groups=()  # where controllers are on v1 and namespaces don't do

engine() { timeout 1800 podman --log-level=error --cgroup-manager cgroupfs --events-backend none --runtime "$runtime" "$@"; }

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  set +e
  if [[ -n $work ]]; then
    engine pod rm --force --time 5 --all >/dev/null 2>&1
    engine rm --force --time 5 --all >/dev/null 2>&1
    what_is_left || code=1
    umount "$work/store/overlay" 2>/dev/null
    rm -rf --one-file-system "$work"
  fi
  exit "$code"
}

# Groups of containers of this run, and processes; the engine's parent groups go,
# where nobody else's are in them.
what_is_left() {
  local id group left=0
  while read -r id; do
    while read -r group; do
      say "left: $group"
      left=1
    done < <(find /sys/fs/cgroup -maxdepth 4 -name "libpod-$id*" 2>/dev/null)
  done < <(sort -u "$work/ids")
  find /sys/fs/cgroup -depth -type d -path '*/libpod_parent*' -exec rmdir {} + 2>/dev/null
  if pgrep -f "$work/" >/dev/null; then
    say "left: $(pgrep -af "$work/")"
    left=1
  fi
  return "$left"
}

remember() { engine ps --all --quiet --no-trunc >>"$work/ids"; }

# A root without CAP_SYS_RESOURCE can't raise limits as the engine would; then a
# wrapper takes them out of what the runtime is told.
prepare_engine() {
  local all
  mkdir -p "$work/run" "$work/seccomp"
  : >"$work/ids"
  export CONTAINERS_STORAGE_CONF=$work/storage.conf CONTAINERS_CONF=$work/containers.conf
  printf '[storage]\ndriver = "overlay"\ngraphroot = "%s"\nrunroot = "%s"\n' \
    "$work/store" "$work/run" >"$CONTAINERS_STORAGE_CONF"
  printf '[engine]\nhelper_binaries_dir = ["/usr/libexec/podman", "/usr/lib/podman"]\n' \
    >"$CONTAINERS_CONF"
  cp "$SECCOMP" "$work/seccomp/sandglass.json"
  if [[ ! -e /sys/fs/cgroup/cgroup.controllers ]]; then
    : "${runtime:=runc}"
    host_groups=(--cgroupns host --volume /sys/fs/cgroup:/sys/fs/cgroup)
  fi
  : "${runtime:=crun}"
  runtime="$(command -v "$runtime")" || die "there is no such runtime; run: apt-get install crun runc"
  all="$(awk '/^CapEff/ {print $2}' /proc/self/status)"
  if ((!(0x$all >> 24 & 1))); then
    sed "s|\"RUNTIME\"|\"$runtime\"|" "$SANDGLASS_ROOT/tests/support/filters/runtime_without_limits.py" \
      >"$work/runtime"
    chmod +x "$work/runtime"
    runtime=$work/runtime
  fi
}

make_base() {
  debian_tree "$work/base.tar"
  engine import --change 'CMD ["bash"]' "$work/base.tar" docker.io/library/debian:bookworm-slim
  rm "$work/base.tar"
}

# What build/ has, as the stage "build" would leave it.
make_programs() {
  DESTDIR=$work/programs/out cmake --install "$SANDGLASS_ROOT/build" --prefix /usr/local --strip
  printf 'FROM scratch\nCOPY out /out\n' |
    engine build --tag sandglass-programs --file - "$work/programs"
}

build_image() {
  local options=(--network host --build-arg "LANGUAGES=$LANGUAGES")
  [[ $full == yes ]] || options+=(--build-arg PROGRAMS=localhost/sandglass-programs)
  engine build "${options[@]}" --tag sandglass "$SANDGLASS_ROOT"
}

passed() { printf 'ok      %s\n' "$*"; }
missed() {
  printf 'FAILED  %s\n' "$*"
  failed=1
}
# expect LABEL WANTED GOT
expect() {
  if [[ $3 == "$2" ]]; then passed "$1"; else missed "$1: expected '$2', got '$3'"; fi
}

inside() { engine exec "$NAME" sandglass "$@"; }

# start OPTION… [-- COMMAND…]: the daemon in a container; true when it answers.
start() {
  local options=() deadline
  while (($# > 0)) && [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  (($# == 0)) || shift
  engine rm --force --time 5 "$NAME" >/dev/null 2>&1 || true
  engine run --detach --name "$NAME" --network none "${options[@]}" sandglass "$@" >/dev/null || return 1
  remember
  deadline=$((SECONDS + START_SECONDS))
  until inside info >/dev/null 2>&1; do
    [[ $(engine inspect --format '{{.State.Status}}' "$NAME") == running ]] || return 1
    ((SECONDS < deadline)) || return 1
    sleep 0.2
  done
}

stop() { engine stop --time 60 "$NAME" >/dev/null; }
last_line() { engine logs "$NAME" 2>&1 | grep -v ' \(info\|warning\) ' | tail -n 1; }
outcome() { inside run "$@" 2>&1 | sed -n 's/^sandglass: \([A-Z_]*\) after.*/\1/p' || true; }

# All required layers, and programs with each end.
works() {
  local label=$1 ends
  shift
  if ! start "$@"; then
    missed "$label: $(last_line)"
    return
  fi
  expect "$label: layers not in force" '' \
    "$(inside info | awk '$0 ~ / required / && $0 !~ / in force / {print $1}')"
  ends=()
  ends+=("$(outcome -l python -c 'print(6 * 7)')")
  ends+=("$(outcome -l python -c 'x = bytearray(1 << 30)')")
  ends+=("$(outcome -l python -c 'while True: pass' --timeout 1s)")
  ends+=("$(outcome -l python -c 'import os, time; [os.fork() or time.sleep(9) for _ in range(99)]')")
  expect "$label: programs" 'OK MEMORY_LIMIT TIMEOUT PIDS_LIMIT' "${ends[*]}"
}

# fails LABEL PATTERN OPTION…: ends by itself with a line like that.
fails() {
  local label=$1 pattern=$2 line
  shift 2
  if start "$@"; then
    missed "$label: it starts"
    return
  fi
  line="$(last_line)"
  if [[ $line =~ $pattern ]]; then passed "$label"; else missed "$label: $line"; fi
}

# caps NAME…: the options that leave these.
caps() {
  printf -- '--cap-drop\nALL\n'
  printf -- '--cap-add\n%s\n' "$@"
}

daemon_alone() {
  local options=() some=() right code=0 program
  mapfile -t options < <(caps "${LEAST[@]}")
  options+=(--cgroupns private --security-opt "seccomp=$SECCOMP")
  local hard=(--security-opt no-new-privileges --read-only --tmpfs /run:mode=755 --tmpfs /var/lib/sandglass:mode=755)
  fails 'no options' 'docs/container.md'
  works 'six capabilities, our filter' "${options[@]}"
  works '… no-new-privileges, read-only' "${options[@]}" "${hard[@]}"

  # A program that runs when the container is to stop ends by itself.
  inside run -l python -c 'import time; time.sleep(2); print("through")' >"$work/through" 2>&1 &
  program=$!
  wait_for ' running ' inside ps || missed 'no program runs'
  stop
  wait "$program" || true
  expect 'stop lets a program end' through "$(head -n 1 "$work/through")"
  code="$(engine inspect --format '{{.State.ExitCode}}' "$NAME")"
  expect 'stop: exit code' 0 "$code"
  expect 'stop: last word' stopped "$(engine logs "$NAME" 2>&1 | awk 'END {print $3}')"

  mapfile -t some < <(caps "${LEAST[@]}")
  works "… the engine's own filter" "${some[@]}" --cgroupns private
  for right in "${LEAST[@]}"; do
    mapfile -t some < <(caps "${LEAST[@]/$right/CHOWN}")
    [[ $right != CHOWN ]] || mapfile -t some < <(caps "${LEAST[@]/$right/FOWNER}")
    fails "six less $right" 'docs/container.md|not permitted' "${some[@]}" --cgroupns private \
      --security-opt "seccomp=$SECCOMP"
  done
}

in_user_namespace() {
  local options=() some=() right
  local daemon=(-- sandglassd --listen unix:/run/sandglass/sandglass.sock --state-dir /var/lib/sandglass)
  local common=(--security-opt "seccomp=$SECCOMP" --entrypoint in-user-namespace.sh)
  local groups=("${host_groups[@]}") unmask=(--security-opt 'unmask=/proc/*')
  ((${#groups[@]} > 0)) || groups=(--cgroupns private --security-opt unmask=/sys/fs/cgroup)
  mapfile -t options < <(caps "${INSIDE[@]}")
  works 'own user namespace, three capabilities' "${options[@]}" "${groups[@]}" "${common[@]}" \
    "${unmask[@]}" "${daemon[@]}"
  fails '… masked /proc' 'fresh-proc.*docs/container.md' "${options[@]}" "${groups[@]}" "${common[@]}" "${daemon[@]}"
  for right in "${INSIDE[@]}"; do
    mapfile -t some < <(caps "${INSIDE[@]/$right/CHOWN}")
    fails "three less $right" 'docs/container.md' "${some[@]}" "${groups[@]}" "${common[@]}" \
      "${unmask[@]}" "${daemon[@]}"
  done
}

# wait_for FILE-PATTERN COMMAND…: until the command ends well and its output has it.
wait_for() {
  local pattern=$1 deadline=$((SECONDS + START_SECONDS)) output
  shift
  # No pipe, whose writer grep -q may kill.
  until output="$("$@" 2>&1)" && grep -q "$pattern" <<<"$output"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.3
  done
}

agent_in_a_pod() {
  local manifest=$work/pod.yaml
  cp "$SANDGLASS_ROOT/deploy/kubernetes/pod.yaml" "$manifest"
  if ((${#host_groups[@]} > 0)); then
    # A manifest can't ask for a cgroup namespace.
    sed -i -e 's|^  volumes:|&\n    - {name: groups, hostPath: {path: /sys/fs/cgroup}}|' \
      -e '0,/^      volumeMounts:/s|^      volumeMounts:|&\n        - {name: groups, mountPath: /sys/fs/cgroup}|' \
      "$manifest"
  fi
  engine kube play --network none --seccomp-profile-root "$work/seccomp" "$manifest" >"$work/kube.log" 2>&1 || true
  remember
  if wait_for '^42$' engine logs "$POD-agent"; then
    passed 'pod: the agent runs a program'
  else
    missed "pod: $(engine logs "$POD-sandglassd" 2>&1 | tail -n 1)"
    return
  fi
  expect 'pod: agent' '10001 10001 59500' \
    "$(engine exec "$POD-agent" id --user) $(engine exec "$POD-agent" id --groups)"
  expect 'pod: the agent has no rights' 'CapBnd: 0000000000000000 NoNewPrivs: 1' \
    "$(engine exec "$POD-agent" grep -E 'CapBnd|NoNewPrivs' /proc/self/status | tr -s '\t\n' ' ' | sed 's/ $//')"
  local probe
  for probe in 'sandglass info' 'sandglass status'; do
    # shellcheck disable=SC2086 # as words
    if engine exec "$POD-sandglassd" $probe >/dev/null 2>&1; then passed "pod: probe $probe"; else missed "pod: probe $probe"; fi
  done
  engine pod stop --time 60 "$POD" >/dev/null 2>&1 || true
  expect 'pod: ends' '0 0' "$(engine inspect --format '{{.State.ExitCode}}' "$POD-sandglassd" "$POD-agent" | xargs)"
  engine pod rm --force "$POD" >/dev/null 2>&1 || true
}

# The manifest, with Kubernetes' own types, where there is a Go that takes them.
pod_schema() {
  cd "$SANDGLASS_ROOT/tests/support/pod_schema"
  if ! GOTOOLCHAIN=local GOFLAGS=-mod=mod go build -o "$work/pod_schema" . >"$work/schema.log" 2>&1; then
    say "left out: the manifest's schema; it needs Go 1.24 and its modules: $(tail -n 1 "$work/schema.log")"
  elif "$work/pod_schema" "$SANDGLASS_ROOT/deploy/kubernetes/pod.yaml"; then
    passed 'pod: schema'
  else
    missed 'pod: schema'
  fi
  return "$failed"
}

# By podman-compose, where it is installed.
agent_by_compose() {
  local path
  path="$(command -v podman-compose)" || {
    say 'left out: compose; it needs podman-compose'
    return
  }
  printf '#!/bin/bash\nexec podman --log-level=error --cgroup-manager cgroupfs --events-backend none --runtime %q "$@"\n' \
    "$runtime" >"$work/podman"
  chmod +x "$work/podman"
  local compose=(timeout 300 "$path" --podman-path "$work/podman")
  # It knows no "cgroup:", and on v1 Podman's usual namespace is the host's.
  ((${#host_groups[@]} == 0)) || compose+=(--podman-run-args=--cgroupns=private)
  # The filter's file is named from there.
  cd "$SANDGLASS_ROOT/deploy/container"
  "${compose[@]}" up --detach >"$work/compose.log" 2>&1 || true
  remember
  if wait_for '^42$' engine logs sandglass_agent_1; then
    passed 'compose: the agent runs a program'
  else
    missed "compose: $(tail -n 1 "$work/compose.log")"
  fi
  "${compose[@]}" down --volumes --timeout 60 >>"$work/compose.log" 2>&1 || missed 'compose: down'
  expect 'compose: nothing stays' '' "$(engine ps --all --quiet)"
  return "$failed"
}

main() {
  while (($# > 0)); do
    case $1 in
      --full) full=yes ;;
      --runtime | --save | --image)
        (($# >= 2)) || die "$USAGE"
        printf -v "${1#--}" '%s' "$2"
        shift
        ;;
      *) die "$USAGE" ;;
    esac
    shift
  done
  need_root
  command -v podman >/dev/null || die 'there is no podman; run: apt-get install --no-install-recommends podman buildah crun runc catatonit netavark'
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  work="$(mktemp -d /var/tmp/sandglass-engine.XXXXXX)"
  prepare_engine
  if [[ -n $image ]]; then
    run_step 'Loading the image' "$work/load.log" engine load --input "$image"
  else
    run_step 'Making the base' "$work/base.log" make_base
    [[ $full == yes ]] || run_step 'Packing the programs' "$work/programs.log" make_programs
    run_step 'Building the image' "$work/build.log" build_image
  fi
  [[ -z $save ]] || engine save --output "$save" localhost/sandglass:latest
  daemon_alone
  in_user_namespace
  engine rm --force --time 5 "$NAME" >/dev/null 2>&1 || true
  agent_in_a_pod
  (agent_by_compose) || failed=1
  (pod_schema) || failed=1
  say "All of it: $SECONDS s"
  return "$failed"
}

main "$@"
