"""The tables of this app that hold people's words, registered with those of memorybank."""

from memorybank.data_inventory import Age, Erasing, Expiry, PrivacyRow, StoredTable, register

from .attempts import AttemptCounter
from .audit import TenantAuditLog, TenantEvent
from .conversation import AnswerContext
from .draft import Draft
from .gateway import ConversationNode, Upstream, UpstreamObject
from .idempotency import IdempotencyRecord
from .import_run import ImportRun, WaitingConversation
from .key import APIKey
from .project import Project
from .tenant import Invitation, Membership, Tenant
from .webhook import Delivery, Webhook

register(
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
            PrivacyRow(
                "an answer while it is being written, and what there is of one that broke off",
                "as written",
                "it is answered, its turn is erased, or it is older than the project keeps turns",
            ),
            expiries=(Expiry(Age.TURNS, "saved_at"),),
        ),
        StoredTable(
            ImportRun,
            ("file", "created_by", "authors", "report", "reasons"),
            "project__bank",
            Erasing.KEEP,
            PrivacyRow(
                "imports on the site: who imported what for whom",
                "account names, a file's name, counts, ids of what was left out",
                "the project is deleted",
            ),
        ),
        StoredTable(
            WaitingConversation,
            ("content",),
            "run__project__bank",
            Erasing.KEEP,
            PrivacyRow(
                "conversations of an export that was uploaded and is not imported yet",
                "as written",
                "imported, discarded, or a day old",
            ),
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
            owner="tenant",
        ),
        StoredTable(
            Invitation,
            ("email",),
            "",
            Erasing.KEEP,
            PrivacyRow("invitations to a tenant", "e-mail addresses", "accepted or withdrawn"),
            owner="tenant",
        ),
    ],
    {
        Delivery: "ids of what happened, a status",
        Webhook: "an address that its owner gave it, an encrypted secret",
        APIKey: "the name that its owner gave it, and a hash",
        IdempotencyRecord: "keyed hashes",
        ConversationNode: "keyed hashes, and ids of turns",
        AnswerContext: "ids of facts and turns, the name of a model",
        AttemptCounter: "a hash",
        Membership: "a role, and a random key",
        Tenant: "the name of a tenant",
        TenantAuditLog: "a hash",
        Upstream: "addresses, names of models, an encrypted key",
        UpstreamObject: "hashes of ids, a time, and the key of a person",
    },
)
