// How far an import is: the part of the page is fetched again until it is finished.
"use strict";

(() => {
  const part = () => document.getElementById("run");
  const look = async () => {
    const response = await fetch(location.href).catch(() => null);
    if (response && response.ok) {
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const fresh = page.getElementById("run");
      if (fresh) part().replaceWith(fresh);
    }
    if (part().hasAttribute("data-running")) setTimeout(look, 1000);
  };
  setTimeout(look, 1000);
})();
