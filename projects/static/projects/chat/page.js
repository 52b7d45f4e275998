// What the parts of a chat's page share: its elements, its templates, sending to the site.

export const turns = document.getElementById("turns");
export const composer = document.getElementById("composer");
export const isOldPage = new URLSearchParams(location.search).has("before");

const problem = document.getElementById("problem");

export const slot = (root, name) => root.querySelector(`[data-slot="${name}"]`);

export const copyOf = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

// With the address to sign in, if that is needed; what is written is kept.
export const tell = (line, signIn) => {
  problem.textContent = line;
  if (signIn) {
    const link = document.createElement("a");
    link.href = signIn;
    link.textContent = gettext("Sign in");
    problem.append(" ", link);
  }
  problem.hidden = !line;
  if (line) problem.scrollIntoView({ block: "nearest" });
};

// Whoever read to the end goes on reading there; who looks something up above is left in peace.
export const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
export const toEnd = () => scrollTo(0, document.documentElement.scrollHeight);

export const pageAt = async (address) => {
  const response = await fetch(address);
  if (!response.ok) throw new Error(response.status);
  return new DOMParser().parseFromString(await response.text(), "text/html");
};

// An action of a form, answered in JSON.
export const post = async (address, data, headers = {}) => {
  const response = await fetch(address, {
    method: "POST",
    headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": composer.elements.csrfmiddlewaretoken.value, ...headers },
    body: JSON.stringify(data),
  });
  const isJSON = (response.headers.get("Content-Type") || "").startsWith("application/json");
  const body = isJSON ? await response.json() : {};
  if (response.ok) return body;
  const unexplained = gettext("The site answered %(status)s. Reload the page and try again.");
  throw Object.assign(new Error(body.error || interpolate(unexplained, { status: response.status }, true)), { signIn: body.sign_in });
};
