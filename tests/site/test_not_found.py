"""Addresses that do not exist, in the demo, where DEBUG is on."""

from django.conf import settings
from django.test import override_settings
from django.urls import reverse

from tests.support.cast import Cast


@override_settings(DEBUG=True, MIDDLEWARE=[*settings.MIDDLEWARE, "config.middleware.not_found.NotFoundMiddleware"])
class NotFoundTest(Cast):
    def test_the_demo_shows_the_site_s_own_page_for_an_address_that_does_not_exist(self) -> None:
        self.client.force_login(self.alice)
        for address in ("/nowhere", reverse("project", args=["acme", "zeus"])):
            page = self.client.get(address)
            self.assertContains(page, "<h1>Page not found</h1>", status_code=404)
            self.assertNotContains(page, "URLconf", status_code=404)
        self.assertEqual(self.client.get(reverse("home")).status_code, 200)
