"""How wide a row of a table is; apart, because who plans memory needs no compiled code."""


def padded(dim: int) -> int:
    """Return the columns that a table of `dim` columns takes: a multiple of 16 floats, 64 bytes.

    >>> padded(100), padded(128)
    (112, 128)
    """
    return -(-dim // 16) * 16
