"""Endpoint for the ratings of an output's answer: whether it helped somebody."""

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, Field, StrictBool

from memorybank import services
from memorybank.services import Output
from projects.api.auth import bank_of, key_of
from projects.api.problems import Problem
from projects.api.schemas import Body, PublicIdIn, row_id_in_path
from projects.tenancy import authentication

from .outputs import ShortText, program_output

router = Router(tags=["outputs"])


class RatingIn(Body):
    """Whether an answer helped a person."""

    author: ShortText = Field(min_length=1, description="Who rates it. One person has one rating.", examples=["ann"])
    helpful: StrictBool | None = Field(description="null: take the rating back.")
    model: ShortText = Field("", description="The model that answered; the gateway has recorded it itself.")


class RatingsOut(BaseModel):
    """How many people rated an answer, and how."""

    helpful: int
    unhelpful: int

    @classmethod
    def of(cls, output: Output) -> "RatingsOut":
        helpful, unhelpful = services.count_ratings(output)
        return cls(helpful=helpful, unhelpful=unhelpful)


@router.get(
    "/outputs/{output}/ratings", response=RatingsOut, url_name="api-ratings", summary="Count an answer's ratings"
)
def get_ratings(request: HttpRequest, output: PublicIdIn) -> RatingsOut:
    return RatingsOut.of(program_output(request, row_id_in_path(output)))


@router.put("/outputs/{output}/ratings", response=RatingsOut, url_name="api-ratings", summary="Rate an answer")
def rate(request: HttpRequest, output: PublicIdIn, body: RatingIn) -> RatingsOut:
    """Replaces the author's earlier rating of this answer. Owners see the share of helpful answers by model."""
    row = program_output(request, row_id_in_path(output))
    if not row.answer:
        raise Problem(409, "This output has no answer.")
    author = authentication.author_of(key_of(request), {body.author})[body.author]
    model = row.answer_context.model if hasattr(row, "answer_context") else ""
    services.rate_answer(
        bank_of(request), output=row.pk, person=author, helpful=body.helpful, model=model or body.model
    )
    return RatingsOut.of(row)
