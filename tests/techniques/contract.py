"""The contract of techniques as these tests run it: memory is measured in processes of its own, which is slow."""

import pytest

from parge.testing import technique


class TechniqueContract(technique.TechniqueContract):
    @pytest.mark.slow
    def test_memory_stays_under_the_projection(self) -> None:
        super().test_memory_stays_under_the_projection()
