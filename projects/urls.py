"""Addresses of the chat pages and of the endpoint that they use."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, register_converter

from . import endpoint, views
from .addresses import ChatKey
from .throttling import LoginForm
from .turn_numbers import TurnNumber

register_converter(ChatKey, "key")
register_converter(TurnNumber, "turn")

CHAT = "p/<slug:tenant>/<slug:project>/chats/<key:key>/"

urlpatterns = [
    path("", views.home, name="home"),
    path("favicon.ico", views.favicon, name="favicon"),
    path(
        "login/",
        LoginView.as_view(
            template_name="projects/login.html", authentication_form=LoginForm, redirect_authenticated_user=True
        ),
        name="login",
    ),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("p/<slug:tenant>/<slug:project>/", views.project_page, name="project"),
    path("p/<slug:tenant>/<slug:project>/chats/", views.new_chat, name="new-chat"),
    path(CHAT, views.chat_page, name="chat"),
    path(f"{CHAT}messages", endpoint.messages, name="messages"),
    path(f"{CHAT}messages/<turn:turn>/retry", endpoint.retry_message, name="retry-message"),
    path(f"{CHAT}turns/<turn:turn>/retry", views.retry, name="retry"),
    path(f"{CHAT}private", views.private, name="private"),
]
