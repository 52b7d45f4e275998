// Ctrl + K or ⌘ K: to the search over one's chats, and the memory, of all projects.
addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  const home = document.querySelector(".brand").href;
  event.preventDefault();
  if (location.href.split(/[?#]/)[0] === home) document.getElementById("search").focus();
  else location.assign(`${home}#search`);
});
if (location.hash === "#search") document.getElementById("search")?.focus();
