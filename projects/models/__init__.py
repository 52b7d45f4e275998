"""Tenants and what belongs to them: members, projects, conversations, API keys, upstreams."""

from . import data_inventory as data_inventory  # registers them
from .audit import TenantEvent, TenantTrail
from .conversation import Conversation, GivenWith
from .draft import Draft
from .gateway import GatewayStep, Upstream
from .idempotency import Answered
from .key import APIKey, Scope
from .login import LoginFailures
from .project import Project
from .tenant import SLUG, Invitation, Membership, Role, Tenant

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
