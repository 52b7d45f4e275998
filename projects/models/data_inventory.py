"""The tables of this app that hold people's words, registered with those of memorybank."""

from memorybank import services
from memorybank.services import Erasing, PrivacyRow, StoredTable

from .audit import TenantEvent, TenantTrail
from .conversation import GivenWith
from .draft import Draft
from .gateway import GatewayStep, Upstream
from .idempotency import Answered
from .key import APIKey
from .login import LoginFailures
from .project import Project
from .tenant import Invitation, Membership, Tenant

services.register_tables(
    [
        StoredTable(
            Project,
            ("system_prompt",),
            "bank",
            Erasing.KEEP,
            PrivacyRow("the project's system prompt", "as written", "changed, or the project is deleted"),
        ),
        StoredTable(
            Draft,
            ("text",),
            "output__chat__bank",
            Erasing.DELETE,
            PrivacyRow("an answer while it is being written", "as written", "it is answered, or its turn is erased"),
        ),
        StoredTable(
            TenantEvent,
            ("actor", "detail"),
            "",
            Erasing.KEEP,
            PrivacyRow(
                "the tenant's audit log: who invited, joined, was removed",
                "account names, roles, ids of invitations; no e-mail address",
                "the tenant is deleted",
            ),
        ),
        StoredTable(
            Invitation,
            ("email",),
            "",
            Erasing.KEEP,
            PrivacyRow("invitations to a tenant", "e-mail addresses", "accepted or withdrawn"),
        ),
    ],
    {
        APIKey: "the name that its owner gave it, and a hash",
        Answered: "keyed hashes",
        GatewayStep: "keyed hashes",
        GivenWith: "ids of facts and turns",
        LoginFailures: "a hash",
        Membership: "a role",
        Tenant: "the name of a tenant",
        TenantTrail: "a hash",
        Upstream: "addresses, names of models, an encrypted key",
    },
)
