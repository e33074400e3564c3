"""Refine passes by name; each is imported when it is first asked for."""

from parge.refine.base import Refiner
from parge.registry import Registry

refiners: Registry[type[Refiner]] = Registry("refine pass", group="parge.refiners", also=("auto",))
refiners.register_at("none", "parge.refine.base:Nothing")
refiners.register_at("whiten", "parge.refine.whiten:Whiten")
refiners.register_at("settle", "parge.refine.whiten:Settle")
refiners.register_at("propagate", "parge.refine.propagate:Propagate")
refiners.register_at("subspace", "parge.refine.subspace:Subspace")
