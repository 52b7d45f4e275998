"""Tenants and what belongs to them: members, projects, conversations, API keys, upstreams."""

from .answered import Answered
from .conversation import Conversation, GivenWith
from .draft import Draft
from .gateway import GatewayStep, Upstream
from .key import APIKey, Scope
from .login import LoginFailures
from .project import Project
from .tenant import SLUG, Invitation, Membership, Role, Tenant
from .trail import TenantEvent, TenantTrail

__all__ = [
    "SLUG",
    "APIKey",
    "Answered",
    "Conversation",
    "Draft",
    "GatewayStep",
    "GivenWith",
    "Invitation",
    "LoginFailures",
    "Membership",
    "Project",
    "Role",
    "Scope",
    "Tenant",
    "TenantEvent",
    "TenantTrail",
    "Upstream",
]
