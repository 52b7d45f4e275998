// Tells the site this browser's time zone: from the next page on, times are shown in it, and the footer names it.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const secure = location.protocol === "https:" ? "; secure" : "";
if (zone) document.cookie = `time_zone=${zone}; path=/; max-age=31536000; samesite=lax${secure}`;
