"""The contract of techniques as these tests run it: what starts processes of its own is slow."""

import pytest

from parge.testing import technique


class TechniqueContract(technique.TechniqueContract):
    @pytest.mark.slow
    def test_memory_stays_under_the_projection(self) -> None:
        super().test_memory_stays_under_the_projection()

    @pytest.mark.slow
    def test_same_bits_in_another_process(self) -> None:
        super().test_same_bits_in_another_process()
