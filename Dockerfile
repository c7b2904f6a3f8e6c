# Builds the images of the product: docker build --target orrery|world-server|bot .
# Each has a base with the C library, and the files that dev/images/files.ts lists. BASE may be any base of Debian's layout with
# glibc, libstdc++, libgcc and certificates, for the architecture of BUILDER.
#
# Without a registry and a daemon, as root (tried on amd64 with buildah 1.28 and a builder that mmdebstrap made too):
#   mmdebstrap --variant=extract --include=libc6,libstdc++6,libgcc-s1,ca-certificates,base-files,netbase \
#     --extract-hook='cat "$1"/usr/share/ca-certificates/mozilla/*.crt > "$1"/etc/ssl/certs/ca-certificates.crt' \
#     --extract-hook='rm -rf "$1"/usr/share/doc "$1"/usr/share/man "$1"/usr/share/locale "$1"/usr/lib/*/gconv' \
#     bookworm base.tar
#   container=$(buildah from scratch) && buildah add $container base.tar / && buildah commit $container localhost/base
#   buildah bud --isolation chroot --build-arg BUILDER=… --build-arg BASE=localhost/base --target orrery --tag orrery:0.1.0 .
ARG BUILDER=docker.io/library/node:26-bookworm-slim
ARG BASE=gcr.io/distroless/cc-debian12:nonroot

FROM ${BUILDER} AS build
WORKDIR /src
RUN apt-get update && apt-get install -y --no-install-recommends binutils && rm -rf /var/lib/apt/lists/*
COPY package.json package-lock.json ./
RUN npm ci --no-fund --no-audit
COPY . .
RUN npm run -s images -- --files /out

FROM ${BASE} AS base
ARG VERSION=0.0.0
ARG REVISION=
LABEL org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.vendor="Orrery"
USER 65532:65532
WORKDIR /opt/orrery

FROM base AS world-server
LABEL org.opencontainers.image.title="Orrery world server"
COPY --from=build /out/world-server/ /
ENTRYPOINT ["/opt/orrery/bin/node", "/opt/orrery/main.mjs"]

FROM base AS bot
LABEL org.opencontainers.image.title="Orrery bot"
COPY --from=build /out/bot/ /
ENTRYPOINT ["/opt/orrery/bin/node", "/opt/orrery/main.mjs"]

FROM base AS orrery
LABEL org.opencontainers.image.title="Orrery"
COPY --from=build /out/orrery/ /
ENTRYPOINT ["/opt/orrery/bin/node"]
CMD ["/opt/orrery/api.mjs"]
