"""Tenants and what belongs to them: members, projects, conversations, API keys, upstreams."""

from . import data_inventory as data_inventory  # registers them
from .attempts import AttemptCounter
from .audit import TenantAuditLog, TenantEvent
from .conversation import AnswerContext, Conversation
from .draft import Draft
from .gateway import ConversationNode, Upstream, UpstreamObject
from .idempotency import IdempotencyRecord
from .import_run import ImportRun, WaitingConversation
from .key import APIKey, NameSource, Scope
from .project import Project
from .tenant import SLUG, Invitation, Membership, Role, Tenant
from .webhook import Delivery, Webhook

__all__ = [
    "SLUG",
    "APIKey",
    "AnswerContext",
    "AttemptCounter",
    "Conversation",
    "ConversationNode",
    "Delivery",
    "Draft",
    "IdempotencyRecord",
    "ImportRun",
    "Invitation",
    "Membership",
    "NameSource",
    "Project",
    "Role",
    "Scope",
    "Tenant",
    "TenantAuditLog",
    "TenantEvent",
    "Upstream",
    "UpstreamObject",
    "WaitingConversation",
    "Webhook",
]
