"""Dense and sparse linear algebra that several rooms share: eigenvectors, tall matrices, whitening, rotations."""
