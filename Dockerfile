# Sandglass in a container.
#
#   docker build -t sandglass .
#   docker run --privileged --cgroupns=private sandglass
#
# The daemon makes jails of its own inside the container: namespaces with nested
# mounts, a fresh /proc, and a writable cgroup subtree. --privileged is the plain
# way to allow that; docs/container.md has two narrower ones and what fails with
# less. The boundary is Sandglass's jail, not the container around it.
#
# The image's parts are tried by tests/container.sh. This file itself is not: it
# was written without an engine at hand. Its commands are the ones that
# deploy/quickstart.sh runs.

FROM debian:bookworm-slim AS build
WORKDIR /src
# Only what the packages depend on, so that a change in the code doesn't install
# them again.
COPY deploy/install-deps.sh deploy/common.sh deploy/
COPY policy/data/languages policy/data/languages
RUN deploy/install-deps.sh --build
COPY . .
RUN cmake --preset release \
 && cmake --build build --parallel "$(bash -c '. deploy/common.sh; parallel_jobs')" \
 && DESTDIR=/out cmake --install build --prefix /usr/local --strip

FROM debian:bookworm-slim
# --languages: the runtimes of all languages; --run: Python and Bash alone.
ARG WITH=--languages
COPY deploy/install-deps.sh deploy/common.sh /tmp/src/deploy/
COPY policy/data/languages /tmp/src/policy/data/languages
RUN /tmp/src/deploy/install-deps.sh "$WITH" \
 && rm -rf /tmp/src /var/lib/apt/lists/* /var/log/sandglass
COPY --from=build /out/usr/local /usr/local
# For containers without CAP_SYS_ADMIN.
COPY deploy/in-user-namespace.sh /usr/local/sbin/
# The socket is in a volume so that the host or another container can reach it.
VOLUME /run/sandglass /var/cache/sandglass
ENTRYPOINT ["sandglassd"]
CMD ["--listen", "unix:/run/sandglass/sandglass.sock", "--state-dir", "/var/lib/sandglass"]
