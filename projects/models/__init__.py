"""Tenants and what belongs to them: members, projects, conversations, API keys."""

from .conversation import Conversation, GivenWith
from .login import LoginFailures
from .project import APIKey, Project
from .tenant import SLUG, Invitation, Membership, Role, Tenant
from .trail import TenantEvent, TenantTrail

__all__ = [
    "SLUG",
    "APIKey",
    "Conversation",
    "GivenWith",
    "Invitation",
    "LoginFailures",
    "Membership",
    "Project",
    "Role",
    "Tenant",
    "TenantEvent",
    "TenantTrail",
]
