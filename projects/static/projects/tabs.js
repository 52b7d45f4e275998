// Scrolls the line of a page’s parts to the open one.
const open = document.querySelector(".parts [aria-current]");
if (open) open.parentElement.scrollLeft = open.offsetLeft - 60;
