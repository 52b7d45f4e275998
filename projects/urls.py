"""URLs of the app: pages, the endpoints that they call, the API, the gateway and MCP."""

from django.contrib.auth.views import LogoutView
from django.urls import path, register_converter
from django.views.i18n import set_language

from memorybank.services import PublicId

from .chat import sharing, sse, turn_views, views
from .gateway import views as gateway
from .importing import views as import_views
from .mcp import views as mcp_views
from .memory import actions, block_history_views, erasure_views, personal_views, usage_views
from .memory import views as memory_views
from .settings_pages import account, email_address, notices, webhooks
from .settings_pages import views as settings_views
from .tenancy import audit_log_page, invitations
from .tenancy import views as tenancy_views
from .web.converters import ChatKey
from .web.js_catalog import JavaScriptTranslations, LanguageConverter
from .web.lazy_urls import LazyInclude

register_converter(ChatKey, "key")
register_converter(LanguageConverter, "language")
register_converter(PublicId, "id")

PEOPLE_PREFIX = "t/<slug:tenant>/people/"
MEMORY_PREFIX = "p/<slug:tenant>/<slug:project>/memory/"
SETTINGS_PREFIX = "p/<slug:tenant>/<slug:project>/settings/"
CHAT_PREFIX = "p/<slug:tenant>/<slug:project>/chats/<key:key>/"

urlpatterns = [
    LazyInclude("api/v1/", "projects.api.urls"),
    path("", views.home, name="home"),
    path("favicon.ico", views.favicon, name="favicon"),
    path("mcp", mcp_views.mcp, name="mcp"),
    path("login/", account.SignIn.as_view(), name="login"),
    path("login/forgotten/", account.ForgottenPassword.as_view(), name="forgotten"),
    path("login/new-password/<uidb64>/<token>/", account.NewPassword.as_view(), name="new-password"),
    path("account/", account.account_page, name="account"),
    path("account/email/<str:token>", email_address.confirm_email, name="confirm-email"),
    path("account/sessions", account.end_sessions, name="end-sessions"),
    path("account/delete", account.delete_account, name="delete-account"),
    path("language/", set_language, name="language"),
    path("words/<language:language>.js", JavaScriptTranslations.as_view(), name="words"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("invitations/<str:token>/", invitations.invitation_page, name="invitation"),
    path(PEOPLE_PREFIX, tenancy_views.people_page, name="people"),
    path(f"{PEOPLE_PREFIX}activity", audit_log_page.audit_log_page, name="tenant-activity"),
    path(f"{PEOPLE_PREFIX}invite", tenancy_views.invite, name="invite"),
    path(f"{PEOPLE_PREFIX}withdraw", tenancy_views.withdraw, name="withdraw"),
    path(f"{PEOPLE_PREFIX}role", tenancy_views.change_role, name="change-role"),
    path(f"{PEOPLE_PREFIX}remove", tenancy_views.remove, name="remove-member"),
    path(f"{PEOPLE_PREFIX}projects", tenancy_views.open_project, name="open-project"),
    path("t/<slug:tenant>/projects/new", settings_views.new_project, name="new-project"),
    path(SETTINGS_PREFIX, settings_views.settings_page, name="project-settings"),
    path(f"{SETTINGS_PREFIX}keys", settings_views.keys_page, name="project-keys"),
    path(f"{SETTINGS_PREFIX}keys/revoke", settings_views.revoke_key, name="project-revoke-key"),
    path(f"{SETTINGS_PREFIX}costs", settings_views.costs_page, name="project-costs"),
    path(f"{SETTINGS_PREFIX}import", import_views.import_page, name="project-import"),
    path(f"{SETTINGS_PREFIX}import/<id:run>", import_views.run_page, name="project-import-run"),
    path(f"{SETTINGS_PREFIX}export", settings_views.export, name="project-export"),
    path(f"{SETTINGS_PREFIX}webhooks", webhooks.webhooks_page, name="project-webhooks"),
    path(f"{SETTINGS_PREFIX}webhooks/change", webhooks.change_webhook, name="project-webhook"),
    path(f"{SETTINGS_PREFIX}notices", notices.notices_page, name="project-notices"),
    path("p/<slug:tenant>/<slug:project>/", views.project_page, name="project"),
    path("p/<slug:tenant>/<slug:project>/chats/", views.new_chat, name="new-chat"),
    path(CHAT_PREFIX, views.chat_page, name="chat"),
    path(f"{CHAT_PREFIX}compaction", views.compaction_progress, name="compaction"),
    path(f"{CHAT_PREFIX}state", views.state, name="chat-state"),
    path(f"{CHAT_PREFIX}answers/<id:turn>", sse.answer_stream, name="answer-stream"),
    path(f"{CHAT_PREFIX}answers/<id:turn>/stop", sse.stop, name="stop-answer"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/retry", turn_views.retry, name="retry"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/remember", turn_views.restore, name="remember"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/edit", turn_views.edit, name="edit-turn"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/regenerate", turn_views.regenerate, name="regenerate"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/continue", turn_views.resume, name="continue"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/answer", turn_views.answer_source, name="answer-source"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/rate", turn_views.rate, name="rate-answer"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/show", turn_views.show_version, name="show-version"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/remember-now", turn_views.remember_now, name="remember-now"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/forget", turn_views.forget, name="forget-turn"),
    path(f"{CHAT_PREFIX}turns/<id:turn>/memory", usage_views.used_page, name="used"),
    path(f"{CHAT_PREFIX}private", views.private, name="private"),
    path(f"{CHAT_PREFIX}title", views.rename, name="rename-chat"),
    path(f"{CHAT_PREFIX}export", sharing.export, name="export-chat"),
    path(f"{CHAT_PREFIX}share", sharing.share, name="share-chat"),
    path(f"{CHAT_PREFIX}read", sharing.read, name="read-chat"),
    path(f"{CHAT_PREFIX}delete", views.delete, name="delete-chat"),
    path(MEMORY_PREFIX, memory_views.now_page, name="memory"),
    path(f"{MEMORY_PREFIX}facts", memory_views.facts_page, name="memory-facts"),
    path(f"{MEMORY_PREFIX}facts/<id:fact>", memory_views.why_page, name="memory-why"),
    path(f"{MEMORY_PREFIX}timeline", memory_views.timeline_page, name="memory-timeline"),
    path(f"{MEMORY_PREFIX}timeline/then", block_history_views.past_page, name="memory-past"),
    path(f"{MEMORY_PREFIX}review", memory_views.review_page, name="memory-review"),
    path(f"{MEMORY_PREFIX}mine", personal_views.mine_page, name="memory-mine"),
    path(f"{MEMORY_PREFIX}mine/decide", personal_views.decide, name="memory-mine-decide"),
    path(f"{MEMORY_PREFIX}mine/<id:fact>", personal_views.own_page, name="memory-own"),
    path(f"{MEMORY_PREFIX}activity", memory_views.activity_page, name="memory-activity"),
    path(f"{MEMORY_PREFIX}decide", actions.decide, name="memory-decide"),
    path(f"{MEMORY_PREFIX}edit", actions.edit, name="memory-edit"),
    path(f"{MEMORY_PREFIX}add", actions.add, name="memory-add"),
    path(f"{MEMORY_PREFIX}retry", actions.retry, name="memory-retry"),
    path(f"{MEMORY_PREFIX}forget", erasure_views.forget, name="memory-forget"),
    path(f"{MEMORY_PREFIX}receipts/<id:receipt>", erasure_views.receipt_page, name="memory-receipt"),
    *gateway.addresses(),
]
