"""The colours of the style sheet: apart for every kind of colour vision, and visible on their ground."""

import re
from importlib import resources

import numpy as np
import pytest
from numpy.typing import NDArray

Colors = NDArray[np.float64]

CSS = resources.files("parge.report").joinpath("page.css").read_text()

# How linear RGB looks without one kind of cone: Machado, Oliveira and Fernandes (2009), severity 1.
VISION: dict[str, Colors] = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def theme(number: int) -> dict[str, Colors]:
    """Return the colours of the light (0) or dark (1) theme, in linear RGB."""
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    pairs = re.findall(r"--([a-z0-9-]+): #([0-9a-f]{6});", blocks[number])
    return {name: _linear(np.array([int(text[i : i + 2], 16) for i in (0, 2, 4)]) / 255) for name, text in pairs}


def _linear(color: Colors) -> Colors:
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)


def _oklab(linear: Colors) -> Colors:
    """Return colours in Ottosson's Oklab, where distances are about as seen; 0.02 is just noticeable."""
    lms = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return np.asarray(np.cbrt(linear @ lms.T) @ lab.T)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("number", [0, 1], ids=["light", "dark"])
def test_colours_of_parts_stay_apart(number: int, vision: str) -> None:
    found = theme(number)
    seen = _oklab(np.clip(np.array([found[f"c{i}"] for i in range(8)]) @ VISION[vision].T, 0, 1))
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=2) + np.eye(8)
    assert apart.min() > 0.075


@pytest.mark.parametrize("number", [0, 1], ids=["light", "dark"])
def test_colours_stand_out_from_the_ground(number: int) -> None:
    found = theme(number)
    light = {name: float(color @ [0.2126, 0.7152, 0.0722]) + 0.05 for name, color in found.items()}

    def contrast(one: str, other: str) -> float:
        return max(light[one], light[other]) / min(light[one], light[other])

    assert min(contrast(f"c{i}", "surface") for i in range(8)) > 2.5
    assert contrast("soft", "ground") > 4.5
    assert contrast("ink", "bad-soft") > 7
    assert contrast("accent", "surface") > 4.5
