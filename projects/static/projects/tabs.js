// On a phone the parts of a page are a line that scrolls: shows the open one.
{
  const open = document.querySelector(".parts [aria-current]");
  if (open) open.parentElement.scrollLeft = open.offsetLeft - 60;
}
