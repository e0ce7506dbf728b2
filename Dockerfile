# Tiba in a container: the program in /opt/tiba, run by a user without rights, on a root that may be read-only.
#
#   docker build -t tiba .
#   docker run --read-only --tmpfs /tmp -v tiba:/data -p 127.0.0.1:8080:8080 -p 127.0.0.1:8081:8081 tiba sandbox
#   docker run --read-only --tmpfs /tmp --env-file tiba.env -v "$PWD"/secrets:/etc/tiba:ro tiba          (serve)
#
# BASE is Debian 12 or later, or a Linux like it with glibc. BUILD_BASE has Node 26 and npm; only packages and the
# documentation site come from it.
ARG BASE=docker.io/library/debian:12-slim
ARG BUILD_BASE=docker.io/library/node:26-bookworm-slim

FROM ${BUILD_BASE} AS packages
WORKDIR /opt/tiba
COPY package.json package-lock.json .npmrc ./
# npm ci builds the console, and links the command line, which is not in the image.
COPY apps/console apps/console
RUN npm ci --omit=dev && rm node_modules/.bin/tiba && npm cache clean --force

# The documentation site, which the public listener serves at /docs. Its packages stay in this stage.
FROM ${BUILD_BASE} AS docs
WORKDIR /opt/tiba
COPY docs/package.json docs/package-lock.json docs/.npmrc docs/
RUN cd docs && npm ci && npm cache clean --force
# What pages link to must be there, also where it is not on the site.
COPY ARCHITECTURE.md CONTRIBUTING.md README.md SECURITY.md openapi.json openapi-operator.json ./
COPY docs docs
COPY packages/client packages/client
RUN node docs/site/build.ts

FROM ${BASE}
LABEL org.opencontainers.image.title="Tiba" org.opencontainers.image.licenses="Apache-2.0"
# Node needs libatomic, which a slim Debian lacks.
RUN ldconfig -p | grep -q libatomic.so.1 \
  || { apt-get update && apt-get install -y --no-install-recommends libatomic1 && rm -rf /var/lib/apt/lists/*; }
# PostgreSQL, which the sandbox starts, looks its user up.
RUN echo 'tiba:x:10001:10001:Tiba:/opt/tiba:/usr/sbin/nologin' >> /etc/passwd \
  && echo 'tiba:x:10001:' >> /etc/group \
  && mkdir -p /data && chown 10001:10001 /data
WORKDIR /opt/tiba
COPY --from=packages /opt/tiba/node_modules node_modules
COPY package.json openapi.json openapi-operator.json LICENSE ./
COPY apps apps
COPY --from=packages /opt/tiba/apps/console/dist apps/console/dist
COPY --from=docs /opt/tiba/docs/site/dist docs/site/dist
# The sandbox keeps its data in .tiba; serve needs a DATABASE_URL.
RUN ln -s /data .tiba
ENV TIBA_HOST=0.0.0.0 TIBA_OPERATOR_HOST=0.0.0.0 PATH=/opt/tiba/node_modules/node/bin:$PATH
USER 10001:10001
VOLUME /data
EXPOSE 8080 8081
# Whether the process runs. Whether it can answer requests says /readyz, which a load balancer asks. It asks over TLS when
# the operator listener speaks it. If that wants a client certificate, the check has none: a handshake is enough.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=6 CMD ["node", "-e", "\
  const { env } = process; \
  const isTls = Boolean(env.TIBA_OPERATOR_TLS_CERTIFICATE_FILE || env.TIBA_TLS_CERTIFICATE_FILE); \
  const target = { host: '127.0.0.1', port: env.TIBA_OPERATOR_PORT || 8081, rejectUnauthorized: false }; \
  const end = (isAlive) => process.exit(isAlive ? 0 : 1); \
  if (env.TIBA_OPERATOR_TLS_CLIENT_CA_FILE) require('node:tls').connect(target, () => end(true)).on('error', () => end(false)); \
  else require(isTls ? 'node:https' : 'node:http').get({ ...target, path: '/livez' }, (answer) => end(answer.statusCode === 200)).on('error', () => end(false));"]
# Not npm: it does not pass signals on.
ENTRYPOINT ["node", "/opt/tiba/apps/server/src/main.ts"]
CMD ["serve"]
