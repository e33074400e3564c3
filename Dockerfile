# docker build -t parge . && docker run --rm parge            runs `parge demo`
# docker run --rm -v "$PWD:/data" parge embed edges.parquet -o vectors.parquet --parts 8
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /dist

FROM python:3.13-slim
# OpenMP, which scikit-learn and the partitioners load.
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /dist /dist
RUN pip install --no-cache-dir /dist/*.whl && rm -r /dist && useradd --create-home parge
USER parge
WORKDIR /data
ENTRYPOINT ["parge"]
CMD ["demo", "--out", "/tmp/demo"]
