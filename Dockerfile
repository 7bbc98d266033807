# A static binary on an empty image: no shell, no package manager, not root.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.buildVersion=${VERSION}" -o /reconciler ./cmd/reconciler
# The folders that the program writes to, owned by the user it runs as.
RUN mkdir -p /rootfs/work/.reconciler /rootfs/work/out /rootfs/tmp /rootfs/etc/ssl/certs \
 && cp /etc/ssl/certs/ca-certificates.crt /rootfs/etc/ssl/certs/ \
 && echo 'reconciler:x:65532:65532::/work:/sbin/nologin' > /rootfs/etc/passwd \
 && chmod 1777 /rootfs/tmp && chown -R 65532:65532 /rootfs/work

FROM scratch
# CA certificates for providers and object stores; the time zones are in the
# binary, and a copy on disk serves tools beside it.
COPY --from=build /rootfs/ /
COPY --from=build /usr/share/zoneinfo /usr/share/zoneinfo
COPY --from=build /reconciler /reconciler
USER 65532:65532
WORKDIR /work
ENV RECONCILER_CONFIG=/etc/reconciler/reconciler.yaml
ENTRYPOINT ["/reconciler"]
CMD ["run"]
