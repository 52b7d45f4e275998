"""Addresses of the chat pages and of the endpoint that they use."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, register_converter
from django.views.i18n import set_language

from . import (
    endpoint,
    forgetting_pages,
    joining,
    mcp_endpoint,
    memory_actions,
    memory_pages,
    memory_used,
    own_chats,
    past_pages,
    people_pages,
    streaming,
    turn_pages,
    views,
)
from .addresses import ChatKey
from .deferring import Deferred
from .gateway import views as gateway
from .languages import Language, Words
from .throttling import LoginForm
from .turn_numbers import TurnNumber

register_converter(ChatKey, "key")
register_converter(Language, "language")
register_converter(TurnNumber, "turn")

PEOPLE = "t/<slug:tenant>/people/"
MEMORY = "p/<slug:tenant>/<slug:project>/memory/"
CHAT = "p/<slug:tenant>/<slug:project>/chats/<key:key>/"

urlpatterns = [
    Deferred("api/v1/", "projects.api.urls"),
    path("", views.home, name="home"),
    path("favicon.ico", views.favicon, name="favicon"),
    path("mcp", mcp_endpoint.mcp, name="mcp"),
    path(
        "login/",
        LoginView.as_view(
            template_name="projects/login.html", authentication_form=LoginForm, redirect_authenticated_user=True
        ),
        name="login",
    ),
    path("language/", set_language, name="language"),
    path("words/<language:language>.js", Words.as_view(), name="words"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("invitations/<str:token>/", joining.invitation_page, name="invitation"),
    path(PEOPLE, people_pages.people_page, name="people"),
    path(f"{PEOPLE}invite", people_pages.invite, name="invite"),
    path(f"{PEOPLE}withdraw", people_pages.withdraw, name="withdraw"),
    path(f"{PEOPLE}role", people_pages.change_role, name="change-role"),
    path(f"{PEOPLE}remove", people_pages.remove, name="remove-member"),
    path(f"{PEOPLE}projects", people_pages.open_project, name="open-project"),
    path("p/<slug:tenant>/<slug:project>/", views.project_page, name="project"),
    path("p/<slug:tenant>/<slug:project>/chats/", own_chats.new_chat, name="new-chat"),
    path(CHAT, views.chat_page, name="chat"),
    path(f"{CHAT}messages", endpoint.messages, name="messages"),
    path(f"{CHAT}compaction", endpoint.compaction, name="compaction"),
    path(f"{CHAT}messages/<turn:turn>/retry", endpoint.retry_message, name="retry-message"),
    path(f"{CHAT}messages/<turn:turn>/edit", endpoint.edit_message, name="edit-message"),
    path(f"{CHAT}messages/<turn:turn>/regenerate", endpoint.regenerate_message, name="regenerate-message"),
    path(f"{CHAT}answers/<key:sent>", streaming.answer_stream, name="answer-stream"),
    path(f"{CHAT}answers/<key:sent>/stop", streaming.stop, name="stop-answer"),
    path(f"{CHAT}turns/<turn:turn>/retry", views.retry, name="retry"),
    path(f"{CHAT}turns/<turn:turn>/remember", views.remember, name="remember"),
    path(f"{CHAT}turns/<turn:turn>/edit", turn_pages.edit, name="edit-turn"),
    path(f"{CHAT}turns/<turn:turn>/regenerate", turn_pages.regenerate, name="regenerate"),
    path(f"{CHAT}turns/<turn:turn>/remember-now", turn_pages.remember_now, name="remember-now"),
    path(f"{CHAT}turns/<turn:turn>/forget", turn_pages.forget, name="forget-turn"),
    path(f"{CHAT}turns/<turn:turn>/memory", memory_used.used_page, name="used"),
    path(f"{CHAT}private", own_chats.private, name="private"),
    path(f"{CHAT}title", own_chats.rename, name="rename-chat"),
    path(f"{CHAT}delete", own_chats.delete, name="delete-chat"),
    path(MEMORY, memory_pages.now_page, name="memory"),
    path(f"{MEMORY}facts", memory_pages.facts_page, name="memory-facts"),
    path(f"{MEMORY}facts/<turn:fact>", memory_pages.why_page, name="memory-why"),
    path(f"{MEMORY}timeline", memory_pages.timeline_page, name="memory-timeline"),
    path(f"{MEMORY}timeline/then", past_pages.past_page, name="memory-past"),
    path(f"{MEMORY}review", memory_pages.review_page, name="memory-review"),
    path(f"{MEMORY}activity", memory_pages.activity_page, name="memory-activity"),
    path(f"{MEMORY}decide", memory_actions.decide, name="memory-decide"),
    path(f"{MEMORY}edit", memory_actions.edit, name="memory-edit"),
    path(f"{MEMORY}add", memory_actions.add, name="memory-add"),
    path(f"{MEMORY}forget", forgetting_pages.forget, name="memory-forget"),
    path(f"{MEMORY}receipts/<turn:receipt>", forgetting_pages.receipt_page, name="memory-receipt"),
    path("v1/chat/completions", gateway.chat_completions, name="gateway-chat-completions"),
    path("v1/responses", gateway.responses, name="gateway-responses"),
    path("v1/messages", gateway.messages, name="gateway-messages"),
    path("v1/messages/count_tokens", gateway.count_tokens, name="gateway-count-tokens"),
    path("v1/embeddings", gateway.embeddings, name="gateway-embeddings"),
    path("v1/models", gateway.models, name="gateway-models"),
    path("v1/models/<path:model>", gateway.models, name="gateway-model"),
]
