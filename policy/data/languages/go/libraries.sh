# shellcheck shell=sh
# Installs modules into layer/mod, with a go.mod that requires them; the
# arguments are modules with versions as `go get` takes them. REGISTRY is the
# module proxy. With a lock lock/ has a go.mod that requires all of it, its
# go.sum, and the list of its modules.
set -e
umask 022
export GOPROXY="$REGISTRY" GOPATH=/tmp/go GOCACHE=/tmp/cache GOTOOLCHAIN=local
export GOMODCACHE=/workspace/layer/mod GOFLAGS=-modcacherw
cd layer
if [ -d ../lock ]; then
  # Its sums are all that is asked, and nothing may be added to them.
  export GOSUMDB=off
  cp ../lock/go.mod ../lock/go.sum .
  xargs go mod download < ../lock/modules 2>&1
  sort go.sum > /tmp/sums
  if ! sort ../lock/go.sum | cmp -s - /tmp/sums; then
    echo "go needs sums that the lock hasn't:"
    sort ../lock/go.sum | comm -13 - /tmp/sums
    exit 1
  fi
else
  printf 'module main\n\ngo 1.19\n' > go.mod
  # A registry of one's own has no part in the public list of sums, and says so;
  # any other failure doesn't switch the check off.
  case "$(curl -s -o /tmp/sums -w '%{http_code}' \
    "$REGISTRY/sumdb/$(go env GOSUMDB)/supported")" in
    404 | 410) export GOSUMDB=off ;;
  esac
  go get "$@" 2>&1
  # The sums of all that these need.
  go mod download all
fi
rm -rf mod/cache/download/sumdb
find mod/cache -name '*.zip' -delete
