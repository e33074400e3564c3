"""Options that several commands share: which graph, and the PLAN."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from parge.cli import show
from parge.decompose.registry import partitioners, strategies
from parge.engine.base import engines
from parge.errors import InputError
from parge.graph.graph import Graph
from parge.io.places import is_url, local_name, to_deliver
from parge.io.stores import shown_url
from parge.numbers import MOST, MOST_DIM, is_number, read_number, read_whole, shown
from parge.planning.names import FAITHFUL
from parge.planning.plan import PLAN_FIELDS, PRESETS, PURPOSES, Plan
from parge.reconcile.base import reconcilers
from parge.refine.base import refiners
from parge.techniques.base import Technique
from parge.techniques.registry import techniques

F = TypeVar("F", bound=Callable[..., Any])


class PathName(click.Path):
    """The name of a file or a folder, or the URL of an input, which stays text; an empty name is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path or the URL, or refuse it."""
        if str(value) == "":
            self.fail("expected the name of a file or folder; got an empty name", param, ctx)
        try:
            name = local_name(value) if isinstance(value, str) else value
        except InputError as error:
            self.fail(str(error), param, ctx)
        return self._remote(name, param, ctx) if is_url(name) else super().convert(name, param, ctx)

    def _remote(self, url: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self.exists:
            self.fail(f"expected a folder on this machine; got the URL {shown_url(url)}", param, ctx)
        return url


class OutName(PathName):
    """The name of a file that is written; one that goes to a URL is written elsewhere first, and sent in the end."""

    def _remote(self, url: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return to_deliver(url)


class LocalName(PathName):
    """The name of a file or a folder on this machine."""

    def _remote(self, url: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        self.fail(f"expected a name on this machine; got the URL {shown_url(url)}", param, ctx)


FILE, OUT, LOCAL = (kind(path_type=Path) for kind in (PathName, OutName, LocalName))
FOLDER = PathName(path_type=Path, exists=True, file_okay=False)


def choice_option(*names: str, values: Iterable[str], help: str, default: str | None = None) -> Callable[[F], F]:  # noqa: A002
    """Return an option that takes one of these values, by default the first."""
    known = list(values)
    return click.option(*names, type=click.Choice(known), default=default or known[0], show_default=True, help=help)


def sizes(text: str) -> list[str]:
    """Split at the commas."""
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise click.BadParameter(f"{shown(text)} has an empty item between commas")
    return items


def whole_numbers(text: str) -> list[int]:
    """Split at the commas and read each number."""
    for item in sizes(text):
        if not is_number(item):
            raise click.BadParameter(
                f"expected whole numbers separated by commas, such as 4000,4000,6000; got {shown(item)}"
            )
    try:
        return [read_whole("each", item) for item in sizes(text)]
    except InputError as error:
        raise click.BadParameter(str(error)) from None


class Count(click.IntRange):
    """An option's whole number, within a range that ends somewhere."""

    def __init__(self, least: int, most: int = MOST) -> None:
        super().__init__(least, most if most <= MOST_DIM else None)  # what --help shows
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or refuse the text."""
        try:
            return read_whole("it", str(value), self.least, self.most)
        except InputError as error:
            self.fail(str(error), param, ctx)


class CountOrFile(PathName):
    """A count, where the text is a number in any notation; else the name of a file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the count or the name, or refuse the text."""
        if not isinstance(value, str) or not is_number(value.strip()):
            return super().convert(value, param, ctx)
        try:
            return read_whole("a count", value)
        except InputError as error:
            self.fail(f"{error}. For a file of that name, give ./{value[:20]}", param, ctx)


class Number(click.FloatRange):
    """An option's finite number within a range; `above` and `below` leave the ends out."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or refuse the text."""
        low, high = -inf if self.min is None else self.min, inf if self.max is None else self.max
        try:
            return read_number("it", str(value), low, high, above=self.min_open, below=self.max_open)
        except InputError as error:
            self.fail(str(error), param, ctx)


# What several commands take.
SEED, COUNT, DIM = Count(0), Count(1), Count(1, MOST_DIM)


def say_idle(names: Iterable[str], words: str) -> None:
    """Print a notice for each of these options that was typed: it has no effect here."""
    context = click.get_current_context()
    typed = [name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    show.notices(f"--{name.replace('_', '-')} has no effect {words}" for name in typed)


def all_of(options: Iterable[Callable[[Any], Any]]) -> Callable[[F], F]:
    """Return several options as one decorator."""

    def add(function: F) -> F:
        for option in reversed(list(options)):
            function = option(function)
        return function

    return add


def column_options(*, weights: bool = True) -> list[Callable[[Any], Any]]:
    """Return the options that say which columns of a graph file make an edge; `header_option` is one more."""
    of_weights = [
        click.option(
            "--weight",
            metavar="NAME",
            help="Column (or GraphML attribute) of the weights.  [default: the column named weight, or the third]",
        ),
        click.option("--unweighted", is_flag=True, help="Ignore the weight column."),
    ]
    return [
        click.option(
            "--source", metavar="NAME", help="Column of one end of the edges, by name or number.  [default: detected]"
        ),
        click.option("--target", metavar="NAME", help="Column of the other end.  [default: detected]"),
        *(of_weights if weights else []),
        click.option(
            "--delimiter",
            metavar="CHAR",
            help="What separates columns of text: one character, or tab, comma, semicolon, pipe, space.  "
            "[default: detected]",
        ),
    ]


header_option = click.option(
    "--header/--no-header", default=None, help="Whether the first line names the columns.  [default: detected]"
)
"""Whether a text file, of edges or of labels, begins with the names of its columns."""

COLUMN_NAMES = ("source", "target", "weight", "unweighted", "delimiter", "header")
"""The parameters of `column_options` and `header_option`."""


def reading_options(*, features: bool = True) -> list[Callable[[Any], Any]]:
    """Return the options that say how a graph file is read; some commands have no use for features."""
    of_features = click.option(
        "--features", type=PathName(), metavar="FILE.npz|FILE.npy", help="Vertex features, one row per vertex."
    )
    return [
        click.option(
            "--vertices",
            type=CountOrFile(),
            metavar="N|FILE",
            help="Extra (isolated) vertices: a count (ids 0..N-1), or a file with one id per line.",
        ),
        *([of_features] if features else []),
        *column_options(),
    ]


graph_options = all_of([click.argument("graph", type=PathName(), metavar="GRAPH"), *reading_options(), header_option])
"""The GRAPH argument, and how it is read."""


class _Renamed(click.Option):
    """An option that is taken by its former names, too, which help does not show."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of help, with the first name alone."""
        alone = copy(self)
        alone.opts = self.opts[:1]
        return click.Option.get_help_record(alone, ctx)


def technique_options() -> list[Callable[[Any], Any]]:
    """Return the options that say which technique, and its settings."""
    return [
        click.option(
            "--technique",
            default="deepwalk",
            show_default=True,
            help=f"A name ({', '.join(techniques.shipped())}), or your own as module:function.",
        ),
        click.option("--dim", type=DIM, help="Dimensions of the vectors.  [default: 128]"),
        click.option(
            "--param", "params", multiple=True, metavar="KEY=VALUE", help="Setting of the technique; may be repeated."
        ),
    ]


plan_options = all_of(
    [
        *technique_options(),
        click.option("--parts", type=COUNT, metavar="N", help="Split the graph into N equal parts.  [default: 1]"),
        click.option(
            "--capacities", type=whole_numbers, metavar="K1,K2,...", help="Maximum number of vertices per worker."
        ),
        click.option(
            "--memory",
            type=sizes,
            metavar="2GB,4GB,...|auto",
            help="Memory of each worker; auto: one part per cluster node, sized to its memory.",
        ),
        click.option("--anchors", metavar="auto|N|P%", help="Vertices shared by all subgraphs.  [default: auto]"),
        click.option(
            "--anchor-strategy",
            metavar="NAME",
            help=f"How to choose anchors: {strategies.listed()}.  [default: alternating]",
        ),
        click.option(
            "--partitioner",
            metavar="NAME",
            help=f"How to split the other vertices: {partitioners.listed()}.  [default: kaminpar]",
        ),
        click.option(
            "--reconcile",
            metavar="NAME",
            help=f"How to bring the parts into one space: {reconcilers.listed()}. backbone: one space "
            "from the start (walk techniques); auto: backbone if it fits, else consensus.  [default: auto]",
        ),
        click.option(
            "--refine",
            metavar="NAME",
            help=f"Final pass over the whole graph: {refiners.listed()}; auto: the default of the "
            "technique.  [default: auto]",
        ),
        click.option(
            "--faithful",
            is_flag=True,
            help="Vectors on the scale of the technique's own on the whole graph, for the least PIP: the same as "
            f"--refine {FAITHFUL}.",
        ),
        choice_option(
            "--preset",
            values=PRESETS,
            help="Defaults for options you omit: best, or paper (the AAAI 2020 settings, corrected).",
        ),
        click.option(
            "--for",
            "purpose",
            type=click.Choice(list(PURPOSES)),
            help="What the vectors are for. Decides what --refine auto means.  [default: labels]",
        ),
        click.option(
            "--engine",
            default="processes",
            show_default=True,
            metavar="NAME",
            help=f"How to run the subgraphs: {engines.listed()}, or a plug-in. serial: one by one in this process; "
            "processes: one process for each; ray: on a cluster.",
        ),
        click.option(
            "--address",
            metavar="HOST:PORT",
            help="Cluster for --engine ray.  [default: RAY_ADDRESS, the cluster on this machine, or a new one]",
        ),
        click.option(
            "--jobs",
            "--workers",
            "jobs",
            cls=_Renamed,
            type=COUNT,
            metavar="W",
            help="Subgraphs embedded at once.  [default: one per core]",
        ),
        click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same bits."),
    ]
)
"""The options of PLAN."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")

overwrite_option = click.option(
    "--overwrite",
    is_flag=True,
    help="Replace existing output files. Without it, only files that parge wrote are replaced. Inputs never are.",
)


def graph_inputs(options: dict[str, Any]) -> list[Path | str]:
    """Return the files, folders, patterns and URLs that the graph options name."""
    named = [options.get(name) for name in ("graph", "features", "vertices")]
    return [name if is_url(name) else Path(name) for name in named if isinstance(name, str)]


def graph_name(options: dict[str, Any]) -> str:
    """Return GRAPH as it is shown: a URL without its secrets."""
    name = str(options["graph"])
    return shown_url(name) if is_url(name) else name


def read_graph(
    options: dict[str, Any], plan: Plan | None = None, scratch: Path | None = None, *, memory: int | None = None
) -> Graph:
    """Take the graph options out of `options` and read the graph.

    It is read into files of `scratch` if it is larger than the plan's memory of the coordinator, or than `memory`.
    """
    from parge.io.graphs.read import read

    return read(
        options.pop("graph"),
        vertices=options.pop("vertices"),
        features=options.pop("features", None),
        **columns_of(options),
        coordinator_memory=memory if plan is None else plan.coordinator_memory,
        scratch=scratch,
    )


def columns_of(options: dict[str, Any]) -> dict[str, Any]:
    """Take the column options out of `options`; return the arguments of `parge.read`."""
    given = {name: options.pop(name, None) for name in COLUMN_NAMES}
    return {"weighted": not given.pop("unweighted"), **given}


def make_technique(options: dict[str, Any]) -> Technique:
    """Take the options of the technique out of `options` and make it."""
    from parge.techniques.resolve import resolve

    settings: dict[str, str] = {}
    for item in options.pop("params"):
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--param needs KEY=VALUE, such as walks=20; got {shown(item)}")
        settings[key.strip().replace("-", "_")] = value
    dim = options.pop("dim")
    if dim is not None:
        if settings.get("dim", str(dim)).strip() != str(dim):
            raise InputError(f"--dim {dim} and --param dim={settings['dim']} contradict each other. Give only one.")
        settings["dim"] = str(dim)
    return resolve(options.pop("technique"), settings)


def make_plan(options: dict[str, Any], *, resume: bool = False) -> Plan:
    """Take the options of PLAN out of `options` and make the plan."""
    technique = make_technique(options)
    if options.pop("faithful", False):
        if options.get("refine") not in (None, FAITHFUL):
            raise InputError(
                f"--faithful and --refine {shown(options['refine'])} contradict each other. Give only one."
            )
        options["refine"] = FAITHFUL
    plan = Plan(technique=technique, **{name: options.pop(name) for name in PLAN_FIELDS if name in options})
    # A name that nobody has is refused here, before a graph is read. What a run to resume was given by the nodes it had
    # then stands in its folder, so that these are not asked again.
    asked = replace(plan, memory=None, parts=2) if resume and plan.memory_is_auto else plan
    asked.resolved  # noqa: B018
    return plan
