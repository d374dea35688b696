# An image for every node of a Ray cluster, and for `docker run`: docs/clusters.md.
#
#   docker build -t accord .
#   docker build -t accord --build-arg EXTRAS=planning,text --build-arg PACKAGES='onnxruntime-gpu[cuda,cudnn]' .
FROM python:3.11-slim-bookworm

# Of Accord (README.md), and packages of your own, such as those that your classes import.
ARG EXTRAS=planning
ARG PACKAGES=

# wget: KubeRay asks with it whether a pod is ready.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends wget \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 accord

COPY . /opt/accord
RUN pip install --no-cache-dir -c /opt/accord/constraints.txt "/opt/accord[${EXTRAS}]" ${PACKAGES}

# What `accord env` prints, but for what depends on the machine or the cluster.
ENV RAY_SERVE_ENABLE_HA_PROXY=1 \
    RAY_SERVE_THROUGHPUT_OPTIMIZED=1 \
    RAY_SERVE_REPLICA_GRPC_MAX_MESSAGE_LENGTH=2147483647 \
    RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH=serve_app.http.fast_path.middlewares \
    RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S=1 \
    RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S=30 \
    RAY_SERVE_REQUEST_PATH_LOG_BUFFER_SIZE=1 \
    RAY_SERVE_LOG_TO_STDERR=1 \
    RAY_worker_niceness=0 \
    RAY_USAGE_STATS_ENABLED=0 \
    RAY_SERVE_HAPROXY_BINARY_PATH=/usr/local/bin/accord-haproxy

USER 1000
WORKDIR /home/accord
CMD ["accord", "run", "/opt/accord/configs/quickstart.yaml"]
