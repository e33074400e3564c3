"""Dense and sparse linear algebra that several folders share: eigenvectors, tall matrices, whitening, rotations."""
