"""Which runs of which studies are asked for: the options of `quiclab study run`, which `quiclab study plan` writes."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from quiclab._base.native import MAX_SEED
from quiclab.cli.lane import LANES
from quiclab.cli.study_group import ONLY, SeedOption, engines_here, parse_only, with_keys, with_lane, with_names
from quiclab.cli.study_options import EnginesOption, NameArgument
from quiclab.cli.values import integer
from quiclab.errors import RequestError, not_one_of
from quiclab.experiment import shards
from quiclab.experiment.shards import are_texts, is_text, optional, whole
from quiclab.study import Study
from quiclab.study.manifest import setting_of
from quiclab.study.plan import Plan, available_engines
from quiclab.study.registry import find_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.study import Point
    from quiclab.study.manifest import Setting

MAX_RUNS: Final = 100_000


def _are_checksums(value: Any) -> bool:
    return isinstance(value, dict) and are_texts(list(value.values()))


KIND: Final = shards.Kind(
    "quiclab.study_plan/1",
    "`quiclab study plan`",
    {
        "study": ("the name of a study", is_text),
        "runs": optional(*whole(1, MAX_RUNS)),
        "only": optional("a list of texts", are_texts),
        "engines": ("names of engines", is_text),
        "variants": ("names of variants", is_text),
        "lane": optional("a lane", LANES.__contains__),
        "seed": optional(*whole(0, MAX_SEED)),
        "checksums": ("checksums of studies", _are_checksums),
    },
)


@dataclass(frozen=True)
class Request:
    """Runs of a study, or of the studies of a group.

    Attributes
    ----------
    study
        Name of the study or group.
    runs
        Runs of each setting; `None` is the number of each study.
    only, engines, variants, lane, seed
        As the options say.
    """

    study: NameArgument
    runs: Annotated[
        int | None,
        typer.Option(parser=integer(1, MAX_RUNS), metavar="N", help="Runs of each setting (default: as published)."),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option(parser=ONLY.checked, metavar="KEY=VALUE", help="Run only these settings; may be repeated."),
    ] = None
    engines: EnginesOption = "default"
    variants: Annotated[
        str, typer.Option(metavar="none|all|A,B", help="Variants: alternative interpretations, or other conditions.")
    ] = "none"
    lane: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(LANES),
            help="Only engines of this lane, without a reference in the other one (default: all lanes).",
        ),
    ] = None
    seed: SeedOption = None

    def __post_init__(self) -> None:
        """Check the lane.

        Raises
        ------
        RequestError
            If there is none of this name.
        """
        if self.lane not in (None, *LANES):
            raise not_one_of("--lane", self.lane, LANES)

    def write(self, file: Path, plans: Sequence[Plan]) -> None:
        """Write the plans of the studies."""
        checksums = {plan.name: checksum(plan) for plan in plans}
        shards.write_plan(file, KIND, {**asdict(self), "checksums": checksums})

    @property
    def keep(self) -> dict[str, tuple[str, ...]]:
        """Values of `--only` by key."""
        return parse_only(list(self.only or ()))

    def studies(self) -> list[Study]:
        """Return the studies that have what is asked for, and say on stderr which have not."""
        found = with_names(find_all(self.study), self.engines, "engine", Study.chosen_engines)
        found = with_names(found, self.variants, "variant", Study.chosen_variants)
        found = with_keys(with_lane(found, self.lane), self.keep)
        return found if self.seed is None else [study.with_seed(self.seed) for study in found]

    def engines_of(self, study: Study) -> list[str]:
        """Return the engines of a study, of those that can run here.

        Raises
        ------
        RequestError
            If it has no such engine.
        """
        chosen = study.engines_of(self.lane, self.engines) if self.lane else study.chosen_engines(self.engines)
        return engines_here(study, chosen, self.engines)

    def points(self, study: Study) -> list[Point]:
        """Return the settings of a study, with those of its reference engine.

        Raises
        ------
        RequestError
            If the study has no such settings, or an engine is not available.
        """
        engines = self.engines_of(study)
        lane_of = {engine.name: engine.lane_name for engine in study.design.engines}
        compared = [name for name in study.with_reference(engines) if self.lane in (None, lane_of[name])]
        present, _ = available_engines(study, compared)
        variants = study.chosen_variants(self.variants)
        if self.variants != "all":
            study.check_variants(variants, present)
        settings = study.points(tuple(present), self.runs, self.keep, variants)
        # the reference engine has variants only if it was chosen
        return [point for point in settings if not point.variant or point.engine in engines]

    def settings(self, study: Study) -> set[Setting]:
        """Return what is run for the points of a study that are no variants, without those of its reference engine."""
        engines = self.engines_of(study)
        points = study.points(tuple(engines), self.runs, self.keep, ())
        return {setting_of(study, point.engine, point.key) for point in points}

    def plan(self, study: Study) -> Plan:
        """Return the plan of a study."""
        return Plan(study, self.points(study))


def read_plans(file: Path) -> tuple[Request, list[Plan]]:
    """Return what a file asks for, and the plan of each study.

    Raises
    ------
    RequestError
        If it is no plan of this version, or a study is not the one that it was written for.
    """
    values = shards.read_plan(file, KIND)[1]
    checksums = values.pop("checksums")
    request = Request(**values)
    plans = [request.plan(study) for study in request.studies()]
    for plan in plans:
        if checksums.get(plan.name) != checksum(plan):
            raise RequestError(
                f"{file}: {plan.name} has changed since the plan was written, or is another study here; write a new "
                f"plan with {KIND.command}",
                kind="Conflict",
            )
    return request, plans


def checksum(plan: Plan) -> str:
    """Return a hash over the settings of a plan and their seeds; nothing is resolved."""
    found = hashlib.sha256()
    for index in range(len(plan)):
        recipe, sets = plan.setting(index)
        found.update(repr((recipe.text, sets)).encode())
    found.update(plan.counts.tobytes() + plan.first_seeds.tobytes())
    return found.hexdigest()
