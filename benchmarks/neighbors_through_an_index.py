"""When an index pays: nearest neighbours by blocks of products, and through an HNSW index of usearch, on one core.

It prints seconds of a core for 1,000 questions to 100,000 rows of 64 numbers, those to build the index, the recall at
10, and the number of questions at which both ways take as long. A minute.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits
from usearch.index import Index

from parge.embedding import Embedding

ROWS, DIM, QUESTIONS, CLUSTERS = 100_000, 64, 1_000, 200


def main() -> None:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLUSTERS, DIM))
    rows = (centres[rng.integers(CLUSTERS, size=ROWS)] + 0.7 * rng.standard_normal((ROWS, DIM))).astype(np.float32)
    begin = time.process_time()
    exact, _ = Embedding(rows, np.arange(ROWS)).neighbors(np.arange(QUESTIONS), k=10)
    products = time.process_time() - begin
    begin = time.process_time()
    index = Index(ndim=DIM, metric="cos", dtype="f32")
    index.add(np.arange(ROWS), rows, threads=1)
    built = time.process_time() - begin
    begin = time.process_time()
    found = index.search(rows[:QUESTIONS], 11, threads=1).keys.tolist()
    asked = time.process_time() - begin
    near = [[key for key in row if key != i][:10] for i, row in enumerate(found)]
    recall = np.mean([len({*a} & {*b}) / 10 for a, b in zip(exact.tolist(), near, strict=True)])
    print(f"{QUESTIONS:,} questions to {ROWS:,} rows of {DIM}: {products:.2f} s by products, {asked:.2f} s by an index")
    print(f"recall of the index at 10: {recall:.4f}; built in {built:.1f} s")
    print(f"as long as {QUESTIONS * built / (products - asked):,.0f} questions by products")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
