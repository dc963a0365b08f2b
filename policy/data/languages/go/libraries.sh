# shellcheck shell=sh
# Installs modules into layer/mod, with a go.mod that requires them; the
# arguments are modules with versions as `go get` takes them. REGISTRY is the
# module proxy.
set -e
umask 022
export GOPROXY="$REGISTRY" GOPATH=/tmp/go GOCACHE=/tmp/cache GOTOOLCHAIN=local
export GOMODCACHE=/workspace/layer/mod GOFLAGS=-modcacherw
cd layer
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
rm -rf mod/cache/download/sumdb
find mod/cache -name '*.zip' -delete
