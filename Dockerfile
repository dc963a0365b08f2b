# Sandglass in a container: the daemon, its client, and the runtimes of languages.
#
#   docker build -t sandglass .                  (or: podman build -t sandglass .)
#   docker build -t sandglass --build-arg LANGUAGES='python bash' .
#
# docs/container.md says with which options it runs; without any it says what is
# missing and ends. The boundary is Sandglass's jail, not the container around it.
#
# Build arguments:
#   BASE      the Debian 12 that all is built on
#   LANGUAGES ids as in policy/data/languages, separated by blanks; none: all.
#             The daemon offers what it finds, so Bash is always there
#   PACKAGES  more of Debian's packages, for programs: python3-numpy …
#   PROGRAMS  the stage, or an image, whose /out holds what `cmake --install`
#             makes. Another one than "build" spares the compiling
#
# tests/by_hand/container_engine.sh builds it and runs it.
ARG BASE=debian:bookworm-slim
ARG PROGRAMS=build

FROM $BASE AS build
WORKDIR /src
# Only what the packages depend on, so that a change in the code doesn't install
# them again.
COPY deploy/install-deps.sh deploy/common.sh deploy/
COPY policy/data/languages policy/data/languages
RUN deploy/install-deps.sh --build
COPY . .
RUN cmake --preset release \
 && cmake --build build --parallel "$(bash -c '. deploy/common.sh; parallel_jobs')" \
      --target sandglassd sandglass-spawner sandglass-egress sandglass \
 && DESTDIR=/out cmake --install build --prefix /usr/local --strip

FROM $PROGRAMS AS programs

FROM $BASE
ARG LANGUAGES=
ARG PACKAGES=
COPY deploy/install-deps.sh deploy/common.sh /tmp/src/deploy/
COPY policy/data/languages /tmp/src/policy/data/languages
RUN /tmp/src/deploy/install-deps.sh --languages $LANGUAGES \
 && { [ -z "$PACKAGES" ] || { apt-get update && apt-get install -y --no-install-recommends $PACKAGES; }; } \
 && rm -rf /tmp/src /var/lib/apt/lists/* /var/log/sandglass
# The daemon becomes this account, and the socket is its group's: who is in group
# 59500 may connect, from another container too. Root is, for `docker exec` and
# probes: it may have no right to open what isn't its own.
RUN groupadd --gid 59500 sandglass \
 && useradd --uid 59500 --gid sandglass --no-create-home --home-dir /nonexistent \
      --shell /usr/sbin/nologin sandglass \
 && usermod --append --groups sandglass root
COPY --from=programs /out/usr/local /usr/local
# The second is for containers without CAP_SYS_ADMIN, in the first one's place.
COPY deploy/container/entry.sh deploy/in-user-namespace.sh /usr/local/sbin/
# By name, so that engines look up its groups.
USER root
# The socket is in a volume so that the host or another container can reach it.
VOLUME /run/sandglass /var/cache/sandglass
ENTRYPOINT ["entry.sh", "sandglassd", "--listen", "unix:/run/sandglass/sandglass.sock", "--state-dir", "/var/lib/sandglass"]
