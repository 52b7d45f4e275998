// A chosen file is read at once; how far its import is: that part of the page is fetched again until it is finished.
const part = () => document.getElementById("run");
const look = async () => {
  const response = await fetch(location.href).catch(() => null);
  if (response?.ok) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("run");
    if (fresh) part().replaceWith(fresh);
  }
  if (part().hasAttribute("data-running")) setTimeout(look, 1000);
};
if (part()) setTimeout(look, 1000);
const file = document.querySelector("[type=file]");
file?.addEventListener("change", () => file.files.length && file.form.requestSubmit());
