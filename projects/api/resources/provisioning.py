"""Endpoints for the operator of the site: tenants, projects, members and keys. They need the operator's key."""

import hmac
from datetime import datetime
from typing import Annotated, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router, Status
from pydantic import BaseModel, Field, StrictInt

from memorybank import services
from projects.tenancy import api_keys, authentication, provisioning

from ...models import APIKey, Membership, NameSource, Project, Role, Scope, Tenant
from ...models.key import DEFAULT_NAME_SOURCES
from ..schemas import (
    PUBLIC_ID,
    Body,
    Cursor,
    Limit,
    Page,
    PublicIdIn,
    PublicIdOut,
    StorableText,
    page_of,
    row_id_in_path,
)

OPERATOR_ACTOR = "operator"
Slug = Annotated[StorableText, Field(min_length=1, max_length=64, examples=["acme"])]
Name = Annotated[StorableText, Field(max_length=200, description="Empty: the slug.")]


def operator(request: HttpRequest) -> str:
    """Authenticate the operator, enter every bank, and return the actor's name for audit logs.

    Raises ``Refused`` for any other key, and for every key if ``OPERATOR_API_KEY`` is empty.
    """
    kind, _, rest = authentication.key_header(request.headers).strip().partition(" ")
    sent = rest.strip() if kind.lower() == "bearer" else kind
    if not settings.OPERATOR_API_KEY or not hmac.compare_digest(sent.encode(), settings.OPERATOR_API_KEY.encode()):
        raise authentication.Unauthenticated
    services.enter_all_banks()
    return OPERATOR_ACTOR


router = Router(tags=["provisioning"])


class NewPlace(Body):
    """A tenant or a project: `slug` is its name in URLs, `name` its display name."""

    slug: Slug
    name: Name = ""


class NewTenant(NewPlace):
    """A tenant; `owner` is the user name of an existing account."""

    owner: Annotated[StorableText, Field(max_length=150)] = ""


class PlaceOut(BaseModel):
    """A tenant or a project."""

    slug: str
    name: str


class MemberIn(Body):
    """A member's role. `email` is used only if the account does not exist yet."""

    role: Role
    email: Annotated[StorableText, Field(max_length=254)] = ""


class MemberOut(BaseModel):
    """A member of a tenant."""

    username: str
    role: Role


class NewKey(Body):
    """A key of a project."""

    name: Annotated[StorableText, Field(min_length=1, max_length=100)]
    scopes: list[Scope] = Field(min_length=1, max_length=len(Scope))
    expires_in_days: StrictInt | None = Field(None, ge=1, le=api_keys.MAX_KEY_DAYS)
    name_sources: list[NameSource] = Field(
        list(DEFAULT_NAME_SOURCES),
        max_length=len(NameSource),
        description="The parts of a request that may name the speaker; empty: everything is recorded under `name`.",
    )


class KeyRow(BaseModel):
    """A key of a project, without its secret."""

    id: PublicIdOut
    name: str
    prefix: str
    scopes: list[Scope]
    name_sources: list[NameSource]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class NewKeyOut(KeyRow):
    """A key with its secret, which is shown once."""

    key: str


@router.get("/tenants", response=Page[PlaceOut], url_name="operator-tenants", summary="List tenants")
def tenants(request: HttpRequest, cursor: Cursor, limit: Limit) -> Page[PlaceOut]:
    rows, after = page_of(Tenant.objects.all(), cursor, limit)
    return Page(items=[_place(row) for row in rows], next=after)


@router.post("/tenants", response={201: PlaceOut}, url_name="operator-tenants", summary="Create a tenant")
def create_tenant(request: HttpRequest, body: NewTenant) -> Status[PlaceOut]:
    owner = User.objects.filter(username=body.owner).first() if body.owner else None
    if body.owner and owner is None:
        raise Http404
    row = provisioning.create_tenant(body.slug, body.name, owner=owner, actor=OPERATOR_ACTOR, now=timezone.now())
    return Status(201, _place(row))


@router.get("/tenants/{tenant}", response=PlaceOut, url_name="operator-tenant", summary="Get a tenant")
def get_tenant(request: HttpRequest, tenant: str) -> PlaceOut:
    return _place(_tenant(tenant))


@router.delete(
    "/tenants/{tenant}",
    response={204: None},
    url_name="operator-tenant",
    summary="Delete a tenant with everything that it remembers",
)
def delete_tenant(request: HttpRequest, tenant: str) -> HttpResponse:
    _tenant(tenant).delete()
    return HttpResponse(status=204)


@router.get(
    "/tenants/{tenant}/projects", response=Page[PlaceOut], url_name="operator-projects", summary="List projects"
)
def projects(request: HttpRequest, tenant: str, cursor: Cursor, limit: Limit) -> Page[PlaceOut]:
    rows, after = page_of(Project.objects.filter(tenant=_tenant(tenant)), cursor, limit)
    return Page(items=[_place(row) for row in rows], next=after)


@router.post(
    "/tenants/{tenant}/projects", response={201: PlaceOut}, url_name="operator-projects", summary="Create a project"
)
def create_project(request: HttpRequest, tenant: str, body: NewPlace) -> Status[PlaceOut]:
    """Memory is off until somebody accepts the disclosure: PATCH `settings` with a key of the project."""
    return Status(201, _place(provisioning.create_project(_tenant(tenant), body.slug, body.name)))


@router.get(
    "/tenants/{tenant}/projects/{project}", response=PlaceOut, url_name="operator-project", summary="Get a project"
)
def get_project(request: HttpRequest, tenant: str, project: str) -> PlaceOut:
    return _place(_project(tenant, project))


@router.delete(
    "/tenants/{tenant}/projects/{project}",
    response={204: None},
    url_name="operator-project",
    summary="Delete a project with everything that it remembers",
)
def delete_project(request: HttpRequest, tenant: str, project: str) -> HttpResponse:
    provisioning.delete_project(_project(tenant, project), actor=OPERATOR_ACTOR, now=timezone.now())
    return HttpResponse(status=204)


@router.get("/tenants/{tenant}/members", response=Page[MemberOut], url_name="operator-members", summary="List members")
def members(request: HttpRequest, tenant: str, cursor: Cursor, limit: Limit) -> Page[MemberOut]:
    rows, after = page_of(_tenant(tenant).memberships.select_related("user"), cursor, limit)
    return Page(items=[_member_out(row) for row in rows], next=after)


@router.put(
    "/tenants/{tenant}/members/{username}",
    response=MemberOut,
    url_name="operator-member",
    summary="Add a member, or change a role",
)
def put_member(request: HttpRequest, tenant: str, username: str, body: MemberIn) -> MemberOut:
    """A missing account is created without a password: it needs your own sign-in, or a password set in the admin."""
    place, now = _tenant(tenant), timezone.now()
    return _member_out(
        provisioning.put_member(place, username, body.role, email=body.email, actor=OPERATOR_ACTOR, now=now)
    )


@router.delete(
    "/tenants/{tenant}/members/{username}",
    response={204: None},
    url_name="operator-member",
    summary="Remove a member",
)
def remove_member(request: HttpRequest, tenant: str, username: str) -> HttpResponse:
    """The account stays. Memory keeps the data of the member until it is erased."""
    row = _tenant(tenant).memberships.filter(user__username=username).select_related("user", "tenant").first()
    if row is None:
        raise Http404
    provisioning.remove_member(row, actor=OPERATOR_ACTOR, now=timezone.now())
    return HttpResponse(status=204)


@router.get(
    "/tenants/{tenant}/projects/{project}/keys", response=Page[KeyRow], url_name="operator-keys", summary="List keys"
)
def keys(request: HttpRequest, tenant: str, project: str, cursor: Cursor, limit: Limit) -> Page[KeyRow]:
    rows, after = page_of(APIKey.objects.filter(project=_project(tenant, project)), cursor, limit)
    return Page(items=[KeyRow(**_key_values(row)) for row in rows], next=after)


@router.post(
    "/tenants/{tenant}/projects/{project}/keys",
    response={201: NewKeyOut},
    url_name="operator-keys",
    summary="Issue a key",
)
def issue_key(request: HttpRequest, tenant: str, project: str, body: NewKey) -> Status[NewKeyOut]:
    place, days = _project(tenant, project), body.expires_in_days
    sources, now = body.name_sources, timezone.now()
    row, secret = api_keys.issue(
        place, body.name, body.scopes, actor=OPERATOR_ACTOR, days=days, name_sources=sources, now=now
    )
    return Status(201, NewKeyOut(**_key_values(row), key=secret))


@router.delete(
    "/tenants/{tenant}/projects/{project}/keys/{key}",
    response={204: None},
    url_name="operator-key",
    summary="Revoke a key",
)
def revoke_key(request: HttpRequest, tenant: str, project: str, key: PublicIdIn) -> HttpResponse:
    rows = APIKey.objects.filter(project=_project(tenant, project), pk=row_id_in_path(key))
    row = rows.select_related("project__tenant").first()
    if row is None:
        raise Http404
    api_keys.revoke(row, actor=OPERATOR_ACTOR, now=timezone.now())
    return HttpResponse(status=204)


def _tenant(slug: str) -> Tenant:
    row = Tenant.objects.filter(slug=slug.replace("\x00", "")).first()
    if row is None:
        raise Http404
    return row


def _project(tenant: str, slug: str) -> Project:
    rows = Project.objects.filter(tenant=_tenant(tenant), slug=slug.replace("\x00", ""))
    row = rows.select_related("tenant", "bank").first()
    if row is None:
        raise Http404
    return row


def _place(row: Tenant | Project) -> PlaceOut:
    return PlaceOut(slug=row.slug, name=row.name)


def _member_out(row: Membership) -> MemberOut:
    return MemberOut(username=row.user.get_username(), role=Role(row.role))


def _key_values(row: APIKey) -> dict[str, Any]:
    names = ("name", "prefix", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at")
    sources = [source for source in NameSource if row.trusts(source)]
    return {"id": PUBLIC_ID.to_url(row.pk), "name_sources": sources, **{name: getattr(row, name) for name in names}}
